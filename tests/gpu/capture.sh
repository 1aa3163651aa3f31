#!/bin/sh
# What only a GPU can tell about recording CUDA, in order of risk:
#   capture.sh BUILD [OUT] [SOAK_LAUNCHES]
# BUILD: build folder with bin/warpsheet-record; OUT: folder for the answers
# (default BUILD/gpu-capture): table.txt, results.json, the traces of the short runs.
# SOAK_LAUNCHES: 30000000. Ends with 0 when all that must hold holds, 1 when
# something does not, 77 when there is no GPU. Some five minutes.
set -u

[ $# -ge 1 ] || {
	sed -n '2,8s/^# \{0,1\}//p' "$0"
	exit 2
}
build=$(cd "$1" && pwd)
out=${2:-$build/gpu-capture}
soak=${3:-30000000}
record=$build/bin/warpsheet-record
warpsheet=$build/bin/warpsheet
launches=$build/tests/gpu_launches
mkdir -p "$out"
out=$(cd "$out" && pwd)
table=$out/table.txt
json=$out/results.json
bad=0
: >"$table"
printf '{"results":[' >"$json"
comma=

# result NUMBER WHAT VALUE UNIT [must COMPARISON]: a line of both outputs
result() {
	verdict=
	if [ $# -gt 4 ]; then
		if test "$3" "$5" "$6" 2>/dev/null; then
			verdict=ok
		else
			verdict="FAILED: must be $5 $6"
			bad=1
		fi
	fi
	printf '%-4s %-62s %14s %-12s %s\n' "$1" "$2" "$3" "$4" "$verdict" | tee -a "$table"
	printf '%s\n{"number":"%s","what":"%s","value":"%s","unit":"%s","verdict":"%s"}' \
		"$comma" "$1" "$2" "$3" "$4" "$verdict" >>"$json"
	comma=,
}

# run NAME OPTIONS -- ARGUMENTS OF launches: record; sets code, said, tally (launched, ns, bytes)
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
		2>"$out/$name.txt"
	code=$?
	said=$(cat "$out/$name.txt")
	read -r launched ns used <"$out/tally" || launched=0 ns=0 used=0
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

"$launches" driver 100 exit "$out/tally" 2>"$out/alone.txt"
code=$?
[ $code -eq 77 ] && {
	cat "$out/alone.txt"
	echo "SKIP: recording CUDA cannot be measured here"
	exit 77
}
result 0 "the program alone ends with" $code "" -eq 0

# 1. buffers in shared memory
run shared -- runtime 1000 exit
result 1 "recorded program ends with" $code "" -eq 0
result 1 "kernels of $launched launched" "$kernels" kernels -eq "$launched"
result 1 "buffers refused" "$(lost activity_refused)" "" -eq 0
result 1 "errors that CUPTI reported" "$(lost activity_error)" "" -eq 0

# 2. correlation ids with calls enabled one by one
result 2 "kernels without a call" "$(rows shared kernel 'correlation=0 ')" kernels -eq 0
result 2 "calls by the runtime" "$(rows shared api cudaLaunchKernelExC)" calls -ge 1000
run driver -- driver 1000 exit
result 2 "driver launches: kernels without a call" "$(rows driver kernel 'correlation=0 ')" kernels -eq 0

# 3. ends
for end in exit _exit kill; do
	run "end-$end" --flush-interval 200 -- runtime 200000 $end
	[ $end = exit ] && result 3 "end by $end: recorded of $launched" "$kernels" kernels -eq "$launched"
	[ $end = exit ] || result 3 "end by $end: recorded of $launched" "$kernels" kernels -gt 0
	result 3 "end by $end: share recorded" \
		"$(awk "BEGIN { printf \"%.4f\", $kernels / $launched }")" ""
done

# 4. ns a launch
for api in runtime driver graph; do
	"$launches" $api 1000000 exit "$out/tally"
	read -r launched off used <"$out/tally"
	result 4 "$api: not recorded" "$off" "ns/launch"
	for mode in "--kernels-only --api none" "--kernels-only" "" "--api all"; do
		# shellcheck disable=SC2086
		run "cost-$api" $mode -- $api 1000000 exit
		result 4 "$api: recorded, ${mode:-default}" "$ns" "ns/launch"
		result 4 "$api: added by ${mode:-default}" \
			"$(awk "BEGIN { printf \"%.0f\", $ns - $off }")" "ns/launch"
		result 4 "$api: kernels of $launched" "$kernels" kernels -eq "$launched"
		result 9 "$api: bytes a launch, ${mode:-default}" \
			"$(awk "BEGIN { printf \"%.2f\", $(wc -c <"$out/cost-$api.wtrace") / ($kernels + 1) }")" bytes
	done
	rm -f "$out/cost-$api.wtrace"
done

# 5. no buffer left
run refused --gpu-buffers 1 -- runtime 300000 exit
result 5 "one buffer: program ends with" $code "" -eq 0
result 5 "one buffer: refused and dropped are counted" \
	"$(($(lost activity_refused) + $(lost activity_dropped) + kernels))" "" -ge "$launched"

# 6. graphs as a whole
run graph-whole --graph-level graph -- graph 1000000 exit
result 6 "graph level: ns a node" "$ns" "ns/launch"
result 6 "graph level: rows of graph launches" "$(rows graph-whole graph_launch start_ns)" rows -ge 10000

# 7. soak, 8. flushing
run soak -- graph "$soak" exit
result 7 "soak: kernels of $launched" "$kernels" kernels -eq "$launched"
result 7 "soak: kernels without times" "$(lost kernel_without_time)" kernels -eq 0
result 7 "soak: GPU memory in use at its end" "$used" bytes
result 9 "soak: bytes a launch" \
	"$(awk "BEGIN { printf \"%.2f\", $(wc -c <"$out/soak.wtrace") / ($kernels + 1) }")" bytes
rm -f "$out/soak.wtrace"
run flush --flush-interval 100 -- runtime 1000000 exit
result 8 "time in buffer flushes, of CUPTI's own count" \
	"$("$warpsheet" dump "$out/flush.wtrace" | awk '
		/^block/ { on = /: overhead \(/ }
		on && /kind=2/ { sub(/.*dur_ns=/, ""); n += $1 }
		END { print n + 0 }')" ns
rm -f "$out/flush.wtrace" "$out/tally"

# 10. whole training steps: seconds of 60 steps less those of 10, a fiftieth of it
step_ms() { # step_ms COMMAND…: runs it with --steps 10 and 60
	began=$(date +%s%N)
	"$@" --steps 10 >"$out/step.txt" 2>&1 || return 1
	middle=$(date +%s%N)
	"$@" --steps 60 >"$out/step.txt" 2>&1 || return 1
	ended=$(date +%s%N)
	awk "BEGIN { printf \"%.3f\", (($ended - $middle) - ($middle - $began)) / 50e6 }"
}

# percent OFF ON: how much longer ON is
percent() {
	awk "BEGIN { printf \"%.2f\", ($2 - $1) / $1 * 100 }"
}

step="$build/bin/warpsheet-step --model transformer-small --context 512 --device cuda"
# shellcheck disable=SC2086
if off=$(step_ms $step); then
	result 10 "transformer-small: not recorded" "$off" "ms/step"
	for mode in "" "--kernels-only" "--api all"; do
		# shellcheck disable=SC2086
		on=$(step_ms "$record" -o "$out/step.wtrace" $mode -- $step)
		result 10 "transformer-small: recorded, ${mode:-default}" "$on" "ms/step"
		result 10 "transformer-small: added by ${mode:-default} (goal: under 2)" \
			"$(percent "$off" "$on")" "%"
	done
else
	result 10 "transformer-small on the GPU: not built" - ""
fi
torch=$(dirname "$0")/torch_step.py
if off=$(python3 "$torch" 2>/dev/null); then
	profiler=$(python3 "$torch" --profile 2>/dev/null)
	on=$("$record" -o "$out/torch.wtrace" -- python3 "$torch" 2>/dev/null)
	result 11 "PyTorch: not recorded" "$off" "ms/step"
	result 11 "PyTorch: added by its own profiler" "$(percent "$off" "$profiler")" "%"
	result 11 "PyTorch: added by recording (goal: a third of that)" "$(percent "$off" "$on")" "%"
else
	result 11 "PyTorch with a GPU: not installed" - ""
fi

printf '\n]}\n' >>"$json"
gpu=$(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null | head -1)
echo "table: $table, JSON: $json; GPU: ${gpu:-unknown}, kernel $(uname -r)"
[ $bad -eq 0 ] || echo "something that must hold does not"
exit $bad
