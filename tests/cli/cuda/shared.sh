# functions of the host in the order of streams, and a GPU that turns to another process: CUPTI 13.1
# shellcheck source=tests/cli/cuda/record.inc
. "$(dirname "$0")/record.inc"

planted() { # planted WHAT [VARIABLE=VALUE...] [OPTION...]: records the program on standard input
	printf '\n# %s\n' "$1"
	shift
	variables=
	while [ $# -gt 0 ]; do
		case $1 in
		[A-Z]*=*) variables="$variables $1" && shift ;;
		*) break ;;
		esac
	done
	# shellcheck disable=SC2086 # no value has a blank
	env $variables warpsheet-record -o t.wtrace "$@" -- env LD_PRELOAD="$tests/fake_cuda/libfake_clock.so" "$tests/planted_cuda" 2>said ||
		cat said
	ask "SELECT 'function', dur_ns, stream, graph_node > 0, correlation > 0 FROM host_function_record ORDER BY 2"
	ask "SELECT 'switch', op, context FROM context_switch_record ORDER BY time_ns"
	told 'cupti.context_switches'
	warpsheet info t.wtrace | sed '1,/^  losses$/d' | awk '$2 > 0 { print "lost: " $1, $2 }'
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
planted 'CUPTI 13.1' FAKE_CUPTI_VERSION=130100 <program
planted 'CUPTI 13.0 has none of it' <program
planted 'a refused kind is a fact' FAKE_CUPTI_VERSION=130100 FAKE_CUPTI_REFUSE_KIND=57 <program
planted 'and --kernels-only asks for none' FAKE_CUPTI_VERSION=130100 --kernels-only <program
