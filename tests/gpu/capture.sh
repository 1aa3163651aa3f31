#!/bin/sh
# What only a GPU can tell about recording CUDA:
#   capture.sh ROOT OUT [QUESTION...]
# ROOT: a build folder or a bundle (bin/, tests/). OUT: folder for the answers; lines.json there
# gets a line for each, what was said and the small traces lie beside. QUESTION: buffers calls
# ends refused graphs new versions cost costs busy soak names compiled steps aa hook torch; all without one.
# COST_LAUNCHES (200000), SOAK (120s; seconds, or a number of nodes), STEP_MODELS and AA_MODELS say how many,
# how long, of what. Ends with 0 when all that must hold holds, 1 when not, 77 when there is no GPU.
# WS_LIBRARY_PATH: folders of libraries for our programs; nobody else is given them.
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
soak=${SOAK:-120s}
step_models=${STEP_MODELS:-transformer-small resnet50}
aa_models=${AA_MODELS:-$step_models}
warpsheet=$root/bin/warpsheet
# ours COMMAND...: one of our programs, with what it is linked to
ours() { LD_LIBRARY_PATH=${WS_LIBRARY_PATH-}${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} "$@"; }
record() { ours "$root/bin/warpsheet-record" "$@"; }
launches() { ours "$root/tests/gpu_launches" "$@"; }
# what is recorded and no program of ours has its libraries as they were
theirs="env -u LD_LIBRARY_PATH${LD_LIBRARY_PATH:+ LD_LIBRARY_PATH=$LD_LIBRARY_PATH}"
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
	record -o "$out/$name.wtrace" $options -- "$root/tests/gpu_launches" "$1" "$2" "$3" "$out/tally" \
		>"$out/$name.txt" 2>&1
	code=$?
	said=$(cat "$out/$name.txt")
	read -r launched ns _ host_ns 2>/dev/null <"$out/tally" || launched=0 ns=0 host_ns=0
	kernels=$(printf '%s\n' "$said" | sed -n 's/.* \([0-9][0-9]*\) kernels.*/\1/p' | tail -1)
	kernels=${kernels:-0}
}

# lost CAUSE: its count in the last run
lost() {
	n=$(printf '%s\n' "$said" | sed -n "s/.*$1 \([0-9][0-9]*\).*/\1/p" | tail -1)
	echo "${n:-0}"
}

# rows TRACE KIND CONDITION: rows of this kind of which it is so
rows() {
	ours "$warpsheet" query "$out/$1.wtrace" "SELECT count(*) FROM $2_record WHERE $3" --format csv | tr -d '\r' | tail -n 1
}

# meta TRACE KEY: its value in the trace
meta() {
	ours "$warpsheet" info "$out/$1.wtrace" 2>/dev/null | sed -n "s/^ *$2  *//p" | head -1
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
		"$(rows shared kernel 'correlation = 0')" kernels -eq 0
	must "calls enabled one by one: by the runtime" "$(rows shared api "name LIKE '%cudaLaunchKernel%'")" calls -ge 1000
	run driver -- driver 1000 exit
	must "calls of the driver: kernels without a call" \
		"$(rows driver kernel 'correlation = 0')" kernels -eq 0
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

# Off and on in turn, the best of three: the clock of a GPU wanders. The host's time is that of the
# launching calls alone, the wall's has the GPU's and CUPTI's on it.
cost_of() { # cost_of API MODE...
	api=$1
	shift
	off='' off_host=''
	for mode in "$@"; do
		on='' on_host=''
		for _ in 1 2 3; do
			# 3 times an API are enough
			if [ "$mode" = "$1" ]; then
				launches "$api" "$cost_launches" exit "$out/tally" || return
				read -r launched t _ h <"$out/tally"
				off=$(least "$t" "$off") off_host=$(least "$h" "$off_host")
			fi
			# shellcheck disable=SC2086
			run "cost-$api" $mode -- "$api" "$cost_launches" exit
			on=$(least "$ns" "$on") on_host=$(least "$host_ns" "$on_host")
		done
		[ "$mode" != "$1" ] || verdict info "$api launches: not recorded, wall and host" "$off, $off_host" "ns each"
		verdict info "$api launches: added by ${mode:-the default} to the wall's time" "$(calc "$on - $off")" "ns each"
		verdict info "$api launches: added by ${mode:-the default} to the host's" "$(calc "$on_host - $off_host")" "ns each"
		must "$api launches, ${mode:-the default}: kernels of $launched" "$kernels" kernels -eq "$launched"
		verdict info "$api launches, ${mode:-the default}: in the trace" "$(bytes_each "cost-$api")" "bytes each"
	done
	rm -f "$out/cost-$api.wtrace"
}

least() { # least NUMBER NUMBER: the second may be missing
	calc "(\"$2\" == \"\" || $1 < $2 + 0) ? $1 : $2 + 0"
}

# what an engineer meets first, and then the rest
q_cost() {
	cost_of runtime "" "--kernels-only --api none" "--kernels-only" "--api all"
}

q_costs() {
	cost_of driver "" "--api all"
	cost_of graph "" "--kernels-only --api none"
}

# Of this CUPTI and this GPU: what no machine without one can tell.
q_versions() {
	run versions -- runtime 1000 exit
	version=$(meta versions cupti.version)
	case $version in
	13.0.0) verdict fail "CUPTI's version" "$version" "" "another than 13.0.0" ;;
	*) verdict info "CUPTI's version" "$version" ;;
	esac
	must "rows of waits" "$(rows versions sync 1)" rows -ge 1
	must "devices with a name" "$(rows versions device "name <> ''")" rows -ge 1
	must "devices with a UUID" "$(rows versions device_attr "attr = 'uuid_high'")" rows -ge 1
	must "devices whose processors are counted" "$(rows versions device_attr "attr = 'sm_count'")" rows -ge 1
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
		"$(rows graph-whole graph_launch 1)" rows -ge "$((cost_launches / 100))"
	run graph-nodes -- graph "$cost_launches" exit
	verdict info "graphs by node: a node" "$ns" ns
	must "capturing a graph: launches that seem to lack their work" \
		"$(lost launch_without_work)" launches -eq 0
	must "captured nodes" "$(rows graph-nodes graph_node 'original = 0')" nodes -ge 100
	must "replayed kernels whose node has no record" "$(rows graph-nodes kernel \
		'graph_node <> 0 AND graph_node NOT IN (SELECT node FROM graph_node_record)')" kernels -eq 0
	rm -f "$out/graph-nodes.wtrace"
}

# What CUPTI 13.1 and 13.4 added, and the lock of the clock, which needs root.
q_new() {
	run new -- runtime 1000 exit
	for fact in hw_trace context_switches host_functions; do
		verdict info "hardware tracing, switches, functions of the host: cupti.$fact" "$(meta new cupti.$fact)"
	done
	verdict info "context switches" "$(rows new context_switch 1)" rows
	run locked --lock-clocks -- runtime 1000 exit
	if [ $code -eq 0 ]; then
		must "a locked clock: kernels of $launched" "$kernels" kernels -eq "$launched"
		must "a locked clock: its fact" "$(meta locked gpu.0.locked_mhz)" MHz -gt 0
	else
		verdict info "the clock cannot be locked" "$(printf '%s\n' "$said" | sed -n 1p)"
	fi
	# how often the counter of energy changes, and the power that it gives
	run energy --gpu-samples 20 -- runtime "$cost_launches" exit
	for what in 'number|count(*)' 'different values|count(DISTINCT energy_mj)' \
		'mean power in W|(max(energy_mj) - min(energy_mj)) * 1e6 / (max(time_ns) - min(time_ns))'; do
		verdict info "energy every 20 ms: ${what%%|*}" \
			"$(ours "$warpsheet" query "$out/energy.wtrace" --format csv "SELECT ${what#*|} FROM gpu_sample_record" 2>/dev/null | tr -d '\r' | sed -n 2p)"
	done
	rm -f "$out/energy.wtrace"
}

# What handing over costs, by our own clock: CUPTI tells of no flush.
q_busy() {
	run flush --flush-interval 100 -- runtime "$cost_launches" exit
	verdict info "flushes while launching" "$(meta flush cupti.flushes)"
	verdict info "flushes: all together" "$(meta flush cupti.flush_ns)" ns
	under "flushes: the longest" "$(meta flush cupti.flush_longest_ns)" ns 100000000
	rm -f "$out/flush.wtrace"
}

# Memory every five seconds, of the program and of the GPU, and the processor's time of both; a
# line of what is known each half a minute, in case it is cut short.
watch() { # watch MEMORY CPU PID: until it ends
	looked=0
	while grep -q '^State:.[^ZX]' "/proc/$3/status" 2>/dev/null; do
		gpu=$(nvidia-smi --query-gpu=memory.used --format=csv,noheader,nounits 2>/dev/null | head -1)
		for pid in "$3" $(cat /proc/"$3"/task/"$3"/children 2>/dev/null); do
			sed -n "s/^VmRSS:[ 	]*/$(date +%s) $pid ${gpu:--} /p" /proc/"$pid"/status 2>/dev/null
		done >>"$1"
		# shellcheck disable=SC2046 # a file a word
		awk -v now="$(date +%s)" -v hz="$(getconf CLK_TCK)" '{ sub(/.*\) /, ""); s += $12 + $13 }
			END { print "soak", "cpu", now, s / hz }' /proc/"$3"/stat \
			$(sed 's|\([0-9][0-9]*\)|/proc/\1/stat|g' /proc/"$3"/task/"$3"/children 2>/dev/null) 2>/dev/null >>"$2"
		looked=$((looked + 1))
		[ $((looked % 6)) -ne 0 ] ||
			verdict info "soak: after $((looked * 5)) s, KiB of memory more" "$(growth "$1" 4)" KiB
		sleep 5
	done
}

# growth FILE COLUMN: the last reading less that after a tenth of the time
growth() {
	awk -v c="$2" '$c ~ /^[0-9]+$/ { v[++n] = $c } END { if (n) print v[n] - v[int(n / 10) + 1] }' "$1"
}

# The processor's seconds of a process and its children so far, from /proc.
cpu_s() { # cpu_s FILE: how it grows: in the first half and in the second
	awk '{ t[NR] = $3; c[NR] = $4 } END { h = int((NR + 1) / 2); if (NR > 2)
		printf "%.2f and %.2f", (c[h] - c[1]) / (t[h] - t[1] + 1e-9), (c[NR] - c[h]) / (t[NR] - t[h] + 1e-9) }' "$1"
}

q_soak() {
	launches graph "${SOAK_BEFORE:-10s}" exit "$out/tally" >/dev/null 2>&1
	read -r launched off _ <"$out/tally"
	verdict info "soak: not recorded" "$off" "ns a node"
	: >"$out/soak-memory.txt"
	: >"$out/soak-cpu.txt"
	rm -f "$out/tally"
	record -o "$out/soak.wtrace" -- "$root/tests/gpu_launches" graph "$soak" exit "$out/tally" \
		>"$out/soak.txt" 2>&1 &
	watch "$out/soak-memory.txt" "$out/soak-cpu.txt" $!
	wait $!
	said=$(cat "$out/soak.txt")
	read -r launched ns _ <"$out/tally" || launched=0 ns=0
	kernels=$(sed -n 's/.* \([0-9][0-9]*\) kernels.*/\1/p' "$out/soak.txt" | tail -1)
	kernels=${kernels:-0}
	must "soak: launched, $soak" "$launched" nodes -gt 0
	must "soak: kernels of $launched" "$kernels" kernels -eq "$launched"
	must "soak: kernels without times" "$(lost kernel_without_time)" kernels -eq 0
	verdict info "soak: recorded" "$ns" "ns a node"
	verdict info "soak: growth of memory" "$(growth "$out/soak-memory.txt" 4)" KiB
	verdict info "soak: growth of the GPU's memory" "$(growth "$out/soak-memory.txt" 3)" MiB
	verdict info "soak: processors busy, first half and second" "$(cpu_s "$out/soak-cpu.txt")"
	verdict info "soak: in the trace" "$(bytes_each soak)" "bytes each"
	rm -f "$out/soak.wtrace"
}

has_torch() {
	$theirs python3 "$here/torch_step.py" --probe >/dev/null 2>&1 && return
	verdict skip "$1" "no PyTorch with a GPU here"
	return 1
}
torch_step() { $theirs python3 "$here/torch_step.py" "$@"; }
# shellcheck disable=SC2086 # words
record_torch() { # record_torch NAME ARGUMENTS of torch_step.py...: prints what the step says
	name=$1
	shift
	record -o "$out/$name.wtrace" -- $theirs python3 "$here/torch_step.py" "$@" 2>"$out/$name.txt"
}

# Are all kernels there? Each name as often as PyTorch's own profiler counts it, a process each.
q_names() {
	has_torch "kernels by name, recorded and by PyTorch's profiler" || return 0
	torch_step --names "$out/names-torch.txt" >/dev/null 2>"$out/names.txt"
	record_torch torch-names --names - >/dev/null
	ours "$warpsheet" report "$out/torch-names.wtrace" --table kernel-summary --format csv \
		>"$out/kernels-torch-names.csv" 2>>"$out/names.txt"
	first=$(python3 "$here/names.py" "$out/names-torch.txt" "$out/kernels-torch-names.csv" 2>>"$out/names.txt")
	must "kernels by name: names that PyTorch's profiler counts" \
		"$(wc -l <"$out/names-torch.txt" | tr -d ' ')" names -ge 1
	if [ -z "$first" ]; then
		verdict pass "kernels by name: as PyTorch's profiler counts them" 0 differ 0
	else
		verdict fail "kernels by name: as PyTorch's profiler counts them" "$first" "" "none differs"
	fi
}

# Names for class_rules.txt: what torch.compile makes has names that no library has.
q_compiled() {
	has_torch "kernels of a compiled step" || return 0
	# shellcheck disable=SC2086 # words
	record -o "$out/torch-compiled.wtrace" --pytorch -- $theirs python3 "$here/torch_step.py" --compiled --names - \
		>"$out/compiled.txt" 2>&1
	ours "$warpsheet" report "$out/torch-compiled.wtrace" --table kernel-summary --format csv \
		>"$out/kernels-torch-compiled.csv" 2>>"$out/compiled.txt"
	must "kernels of a compiled step: of Triton" "$(grep -c triton "$out/kernels-torch-compiled.csv")" names -ge 1
}

# What recording adds to a step of ours, in turn, best of two.
q_steps() {
	for model in $step_models; do
		on='' off=''
		for _ in 1 2; do
			off=$(least "$(step_ms "$model" ours)" "$off")
			on=$(least "$(step_ms "$model" record -o "$out/step.wtrace" --)" "$on")
		done
		must "step of $model: records lost" "$(sed -n 's/.* lost: //p' "$out/step.txt" | wc -l)" "" -eq 0
		rm -f "$out/step.wtrace"
		verdict info "step of $model: not recorded" "$off" ms
		under "step of $model: added by recording" "$(calc "$on / $off * 100 - 100")" "%" 5
	done
}

# step_ms MODEL HOW...: milliseconds of a step, by its own clock, the least of three rounds; nothing where it fails
step_ms() {
	model_=$1
	shift
	# shellcheck disable=SC2046 # one argument or none
	"$@" "$root/tests/gpu_bench" $([ "${QUICK-}" != 1 ] || echo --quick) steps "$model_" amp-bf16 full 4 128 3 20 \
		>"$out/step.txt" 2>&1 || return
	sed -n 's/.*"kind":"step".*"ms":\([0-9.]*\).*/\1/p' "$out/step.txt" | sort -n | head -1
}

# The same step ten times: what differs between recordings of one program is noise. The recordings
# are among the answers.
q_aa() {
	for model in $aa_models; do
		rm -rf "$out/aa-$model"
		record -o "$out/aa-$model" --repeat 10 -- "$root/bin/warpsheet-step" --model "$model" \
			--device cuda --dtype amp-bf16 --fusion full --steps 10 --batch 4 >"$out/aa.txt" 2>&1
		ours "$warpsheet" aa "$out/aa-$model"/*.wtrace >"$out/aa-$model.txt" 2>&1
		must "the same step of $model ten times: ends with" $? "" -eq 0
		must "the same step of $model ten times: recordings with losses" "$(grep -c ' lost: ' "$out/aa.txt")" "" -eq 0
	done
}

# Operations of an unmodified program: those that PyTorch's own profiler has of the very same run.
# shellcheck disable=SC2086 # words
q_hook() {
	has_torch "PyTorch's operations" || return 0
	if ! $theirs python3 -c 'import torch._C' 2>/dev/null; then
		verdict skip "PyTorch's operations" "this PyTorch has none"
		return 0
	fi
	programs="cnn transformer eager_transformer lstm custom_function"
	WS_TORCH_DEVICE=cuda record -o "$out/hook.wtrace" --pytorch -- \
		$theirs python3 "$here/programs.py" "$out" $programs >"$out/hook.txt" 2>&1
	ours "$warpsheet" export "$out/hook.wtrace" -o "$out/hook.json" >>"$out/hook.txt" 2>&1
	for program in $programs; do
		python3 "$here/compare.py" "$out/$program.json" "$out/hook.json" "$program" >>"$out/hook.txt" 2>&1
		code=$?
		must "PyTorch's operations as its profiler has them: $program" $code "" -eq 0
		rm -f "$out/$program.json"
	done
	rm -f "$out/hook.json"
	record -o "$out/gpu-torch.wtrace" --pytorch -- $theirs python3 "$here/torch_step.py" --names - >>"$out/hook.txt" 2>&1
	ours "$warpsheet" report "$out/gpu-torch.wtrace" --table ops --format csv >"$out/ops-torch.csv" 2>>"$out/hook.txt"
	must "PyTorch's operations: kinds of a transformer's step" "$(tail -n +2 "$out/ops-torch.csv" | wc -l)" kinds -ge 10
}

# PyTorch's step is timed by itself; recorded and not, in turn. What is captured first.
q_torch() {
	has_torch "PyTorch recorded" || return 0
	record_torch torch-graph --graph >/dev/null
	said=$(cat "$out/torch-graph.txt")
	must "torch.cuda.graph: launches that seem to lack their work" "$(lost launch_without_work)" launches -eq 0
	off='' on='' hooked='' off_host='' on_host='' hooked_host=''
	for _ in 1 2; do
		read -r t h <<-END
			$(torch_step 2>/dev/null)
		END
		off=$(least "$t" "$off") off_host=$(least "$h" "$off_host")
		read -r t h <<-END
			$(record_torch torch-step)
		END
		on=$(least "$t" "$on") on_host=$(least "$h" "$on_host")
		# shellcheck disable=SC2086 # words
		read -r t h <<-END
			$(record -o "$out/torch-step.wtrace" --pytorch -- $theirs \
				python3 "$here/torch_step.py" 2>"$out/torch-step.txt")
		END
		hooked=$(least "$t" "$hooked") hooked_host=$(least "$h" "$hooked_host")
	done
	rm -f "$out/torch-step.wtrace"
	verdict info "PyTorch: a step not recorded, wall and host" "$off, $off_host" ms
	verdict info "PyTorch: added by recording to the host's time" "$(calc "$on_host / $off_host * 100 - 100")" "%"
	verdict info "PyTorch: added by recording it with its operations to the host's time" \
		"$(calc "$hooked_host / $off_host * 100 - 100")" "%"
	under "PyTorch: added by recording" "$(calc "$on / $off * 100 - 100")" "%" 5
	under "PyTorch: added by recording it with its operations" "$(calc "$hooked / $off * 100 - 100")" "%" 10
	own=$(torch_step --profile 2>/dev/null)
	verdict info "PyTorch: added by its own profiler" "$(calc "$own / $off * 100 - 100")" "%"
	record_torch torch-profiler --profile >/dev/null
	if grep -q "profiler inside the program" "$out/torch-profiler.txt"; then
		verdict pass "PyTorch's own profiler under recording" "told and counted" "" "never silent"
	else
		said=$(cat "$out/torch-profiler.txt")
		must "PyTorch's own profiler under recording: launches without work" \
			"$(lost launch_without_work)" launches -eq 0
	fi
}

launches driver 100 exit "$out/tally" >"$out/alone.txt" 2>&1
code=$?
[ $code -eq 77 ] && {
	cat "$out/alone.txt"
	echo "SKIP: recording CUDA cannot be measured here"
	exit 77
}
must "the program alone ends with" $code "" -eq 0
[ $# -gt 0 ] || set -- buffers calls ends refused graphs new versions cost costs busy names compiled steps aa hook soak torch
for question in "$@"; do
	"q_$question" || verdict fail "$question" "did not run"
done
rm -f "$out/tally"
[ "$(grep -c '"fail"' "$lines")" = "${begun:-0}" ]
