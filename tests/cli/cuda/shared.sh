# functions of the host in the order of streams, and a GPU that turns to another process: CUPTI 13.1
# shellcheck source=tests/cli/cuda/record.inc
. "$(dirname "$0")/record.inc"

host_and_switches() { # as planted, and prints what was recorded
	planted "$@"
	ask "SELECT 'function', dur_ns, stream, graph_node > 0, correlation > 0 FROM host_function_record ORDER BY 2"
	ask "SELECT 'switch', op, context FROM context_switch_record ORDER BY time_ns"
	told 'cupti.context_switches'
	losses
}

# a launched function, and one that is a node of a graph
cat >program <<END
launch a 7 5000 100000
work 90000
away 400000
launch b 7 5000 100000
function 3000
wait
range capture
node A gemm 100
node A host 700
end
instantiate A X
replay X
END
host_and_switches 'CUPTI 13.1' FAKE_CUPTI_VERSION=130100 <program
host_and_switches 'CUPTI 13.0 has none of it' <program
host_and_switches 'a refused kind is a fact' FAKE_CUPTI_VERSION=130100 FAKE_CUPTI_REFUSE_KIND=57 <program
host_and_switches 'and --kernels-only asks for none' FAKE_CUPTI_VERSION=130100 --kernels-only <program
