#!/bin/sh
# What only a GPU can tell about recording CUDA:
#   capture.sh ROOT OUT [QUESTION...]
# ROOT: a build folder or a bundle (bin/, tests/). OUT: folder for the answers; lines.json there
# gets a line for each, what was said and the small traces lie beside. QUESTION: buffers calls
# ends cost refused graphs busy soak torch; all without one. COST_LAUNCHES (200000) and
# SOAK_LAUNCHES (30000000) say how many. Ends with 0 when all that must hold holds, 1 when
# something does not, 77 when there is no GPU.
set -u

[ $# -ge 2 ] || {
	sed -n '2,9s/^# \{0,1\}//p' "$0"
	exit 2
}
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$1" && pwd)
mkdir -p "$2"
out=$(cd "$2" && pwd)
shift 2
# shellcheck source=tests/gpu/common.sh
. "$here/common.sh"
cost_launches=${COST_LAUNCHES:-200000}
soak_launches=${SOAK_LAUNCHES:-30000000}
record=$root/bin/warpsheet-record
warpsheet=$root/bin/warpsheet
launches=$root/tests/gpu_launches
begun=$(grep -c '"fail"' "$lines" 2>/dev/null)

# run NAME OPTIONS -- ARGUMENTS OF launches: record; sets code, said, launched, ns, kernels
run() {
	name=$1
	shift
	options=
	while [ "$1" != -- ]; do
		options="$options $1"
		shift
	done
	shift
	rm -f "$out/tally"
	# shellcheck disable=SC2086 # options hold no spaces of their own
	"$record" -o "$out/$name.wtrace" $options -- "$launches" "$1" "$2" "$3" "$out/tally" \
		>"$out/$name.txt" 2>&1
	code=$?
	said=$(cat "$out/$name.txt")
	read -r launched ns _ <"$out/tally" || launched=0 ns=0
	kernels=$(printf '%s\n' "$said" | sed -n 's/.* \([0-9][0-9]*\) kernels.*/\1/p' | tail -1)
	kernels=${kernels:-0}
}

# lost CAUSE: its count in the last run
lost() {
	n=$(printf '%s\n' "$said" | sed -n "s/.*$1 \([0-9][0-9]*\).*/\1/p" | tail -1)
	echo "${n:-0}"
}

# rows TRACE KIND PATTERN: rows of this kind in which PATTERN occurs
rows() {
	"$warpsheet" dump "$out/$1.wtrace" | awk -v kind="$2" -v pattern="$3" '
		/^block/ { on = $0 ~ ": " kind " \\(" }
		on && /^  \[/ && $0 ~ pattern { n++ }
		END { print n + 0 }'
}

# meta TRACE KEY: its value in the trace
meta() {
	"$warpsheet" info "$out/$1.wtrace" 2>/dev/null | sed -n "s/^ *$2  *//p" | head -1
}

bytes_each() { # bytes_each TRACE: of its file, a kernel
	calc "$(wc -c <"$out/$1.wtrace") / ($kernels + 1)"
}

q_buffers() {
	run shared -- runtime 1000 exit
	must "recording: the program ends with" $code "" -eq 0
	must "recording: kernels of $launched" "$kernels" kernels -eq "$launched"
	must "recording: buffers refused" "$(lost activity_refused)" "" -eq 0
	must "recording: errors that CUPTI reported" "$(lost activity_error)" "" -eq 0
}

q_calls() {
	run shared -- runtime 1000 exit
	must "calls enabled one by one: kernels without a call" \
		"$(rows shared kernel 'correlation=0 ')" kernels -eq 0
	must "calls enabled one by one: by the runtime" "$(rows shared api cudaLaunchKernel)" calls -ge 1000
	run driver -- driver 1000 exit
	must "calls of the driver: kernels without a call" \
		"$(rows driver kernel 'correlation=0 ')" kernels -eq 0
}

q_ends() {
	for end in exit _exit kill; do
		run "end-$end" --flush-interval 200 -- runtime "$cost_launches" $end
		share=$(calc "$kernels / ($launched + 1e-9)")
		if [ $end = exit ]; then
			must "end by $end: recorded of $launched" "$kernels" kernels -eq "$launched"
		else
			must "end by $end: recorded of $launched" "$kernels" kernels -gt 0
		fi
		verdict info "end by $end: share recorded" "$share"
		rm -f "$out/end-$end.wtrace"
	done
}

# Off and on in turn, the best of three: the clock of a GPU wanders.
q_cost() {
	for api in runtime driver graph; do
		off=
		for mode in "--kernels-only --api none" "--kernels-only" "" "--api all"; do
			on=
			for _ in 1 2 3; do
				"$launches" $api "$cost_launches" exit "$out/tally" || return
				read -r launched t _ <"$out/tally"
				off=$(calc "(\"$off\" == \"\" || $t < $off + 0) ? $t : $off + 0")
				# shellcheck disable=SC2086
				run "cost-$api" $mode -- $api "$cost_launches" exit
				on=$(calc "(\"$on\" == \"\" || $ns < $on + 0) ? $ns : $on + 0")
			done
			verdict info "$api launches: not recorded" "$off" "ns each"
			verdict info "$api launches: added by ${mode:-the default}" \
				"$(calc "$on - $off")" "ns each"
			must "$api launches, ${mode:-the default}: kernels of $launched" \
				"$kernels" kernels -eq "$launched"
			verdict info "$api launches, ${mode:-the default}: in the trace" \
				"$(bytes_each "cost-$api")" "bytes each"
		done
		rm -f "$out/cost-$api.wtrace"
	done
}

q_refused() {
	run refused --gpu-buffers 1 -- runtime "$cost_launches" exit
	must "one buffer: the program ends with" $code "" -eq 0
	must "one buffer: recorded, refused and dropped together" \
		"$(($(lost activity_refused) + $(lost activity_dropped) + kernels))" "" -ge "$launched"
	rm -f "$out/refused.wtrace"
}

q_graphs() {
	run graph-whole --graph-level graph -- graph "$cost_launches" exit
	verdict info "whole graphs: a node" "$ns" ns
	must "whole graphs: rows of graph launches" \
		"$(rows graph-whole graph_launch start_ns)" rows -ge "$((cost_launches / 100))"
	run graph-nodes -- graph "$cost_launches" exit
	verdict info "graphs by node: a node" "$ns" ns
	must "capturing a graph: launches that seem to lack their work" \
		"$(lost launch_without_work)" launches -eq 0
	rm -f "$out/graph-nodes.wtrace"
}

# What handing over costs, by our own clock: CUPTI tells of no flush.
q_busy() {
	run flush --flush-interval 100 -- runtime "$cost_launches" exit
	verdict info "flushes while launching" "$(meta flush cupti.flushes)"
	verdict info "flushes: all together" "$(meta flush cupti.flush_ns)" ns
	under "flushes: the longest" "$(meta flush cupti.flush_longest_ns)" ns 100000000
	rm -f "$out/flush.wtrace"
}

# Memory every five seconds, of the program and of the GPU, beside the same without us.
watch() { # watch FILE PID: until it ends
	while grep -q '^State:.[^ZX]' "/proc/$2/status" 2>/dev/null; do
		gpu=$(nvidia-smi --query-gpu=memory.used --format=csv,noheader,nounits 2>/dev/null | head -1)
		for pid in "$2" $(cat /proc/"$2"/task/"$2"/children 2>/dev/null); do
			sed -n "s/^VmRSS:[ 	]*/$(date +%s) $pid ${gpu:--} /p" /proc/"$pid"/status 2>/dev/null
		done >>"$1"
		sleep 5
	done
}

# growth FILE COLUMN: the last reading less that after a tenth of the time
growth() {
	awk -v c="$2" '$c ~ /^[0-9]+$/ { v[++n] = $c } END { if (n) print v[n] - v[int(n / 10) + 1] }' "$1"
}

q_soak() {
	"$launches" graph "$((soak_launches / 10))" exit "$out/tally" >/dev/null 2>&1
	read -r launched off _ <"$out/tally"
	verdict info "soak: not recorded" "$off" "ns a node"
	: >"$out/soak-memory.txt"
	rm -f "$out/tally"
	"$record" -o "$out/soak.wtrace" -- "$launches" graph "$soak_launches" exit "$out/tally" \
		>"$out/soak.txt" 2>&1 &
	watch "$out/soak-memory.txt" $!
	wait $!
	said=$(cat "$out/soak.txt")
	read -r launched ns _ <"$out/tally" || launched=0 ns=0
	kernels=$(sed -n 's/.* \([0-9][0-9]*\) kernels.*/\1/p' "$out/soak.txt" | tail -1)
	kernels=${kernels:-0}
	must "soak: kernels of $launched" "$kernels" kernels -eq "$launched"
	must "soak: kernels without times" "$(lost kernel_without_time)" kernels -eq 0
	verdict info "soak: recorded" "$ns" "ns a node"
	verdict info "soak: growth of memory" "$(growth "$out/soak-memory.txt" 4)" KiB
	verdict info "soak: growth of the GPU's memory" "$(growth "$out/soak-memory.txt" 3)" MiB
	verdict info "soak: in the trace" "$(bytes_each soak)" "bytes each"
	rm -f "$out/soak.wtrace"
}

# PyTorch's step is timed by itself; recorded and not, in turn.
q_torch() {
	torch=$here/torch_step.py
	python3 "$torch" --probe >/dev/null 2>&1 || {
		verdict skip "PyTorch with a GPU" "not here"
		return
	}
	off='' on='' own=''
	for _ in 1 2 3; do
		off="$off $(python3 "$torch" 2>/dev/null)"
		on="$on $("$record" -o "$out/torch.wtrace" -- python3 "$torch" 2>"$out/torch.txt")"
	done
	own=$(python3 "$torch" --profile 2>/dev/null)
	# shellcheck disable=SC2086
	off=$(printf '%s\n' $off | sort -n | head -1) on=$(printf '%s\n' $on | sort -n | head -1)
	verdict info "PyTorch: a step not recorded" "$off" ms
	under "PyTorch: added by recording" "$(calc "($on - $off) / $off * 100")" "%" 5
	verdict info "PyTorch: added by its own profiler" "$(calc "($own - $off) / $off * 100")" "%"
	"$record" -o "$out/torch-profiler.wtrace" -- python3 "$torch" --profile >"$out/torch-profiler.txt" 2>&1
	if grep -q "profiler inside the program" "$out/torch-profiler.txt"; then
		verdict pass "PyTorch's own profiler under recording" "told and counted" "" "never silent"
	else
		said=$(cat "$out/torch-profiler.txt")
		must "PyTorch's own profiler under recording: launches without work" \
			"$(lost launch_without_work)" launches -eq 0
	fi
	"$record" -o "$out/torch-graph.wtrace" -- python3 "$torch" --graph >"$out/torch-graph.txt" 2>&1
	said=$(cat "$out/torch-graph.txt")
	must "torch.cuda.graph: launches that seem to lack their work" \
		"$(lost launch_without_work)" launches -eq 0
}

"$launches" driver 100 exit "$out/tally" >"$out/alone.txt" 2>&1
code=$?
[ $code -eq 77 ] && {
	cat "$out/alone.txt"
	echo "SKIP: recording CUDA cannot be measured here"
	exit 77
}
must "the program alone ends with" $code "" -eq 0
[ $# -gt 0 ] || set -- buffers calls ends cost refused graphs busy soak torch
for question in "$@"; do
	"q_$question" || verdict fail "$question" "did not run"
done
rm -f "$out/tally"
[ "$(grep -c '"fail"' "$lines")" = "${begun:-0}" ]
