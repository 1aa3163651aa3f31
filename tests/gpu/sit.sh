#!/bin/sh
# A sitting with a GPU, in three parts of at most nine minutes each:
#   sit.sh PART [OUT]
# PART: 1, 2 or 3. OUT: folder for the answers (default: gpu-answers-PART in this folder's parent).
# Needs a shell, the driver and what bundle.sh packed (or a build folder: ROOT says where bin/
# and tests/ lie); cuBLAS, cuDNN and CUPTI are looked for in the toolkit, beside PyTorch and then
# anywhere. Python 3 for tables, PyTorch and compute-sanitizer where they are. No cmake, no
# network. Each step has a time limit of its own, and what is known is written at once: a step
# that crashes or hangs costs itself. At the end: OUT/table.txt, a verdict a line, and
# OUT/answers-PART.tar.gz, under 16 MB. To try the script itself: QUICK=1 for small numbers, and
# STEP_LIMIT_S and PART_LIMIT_S in place of all steps' time limits and of the part's. KEEP=FOLDER:
# lines, table and archive are there after each step, whole, whatever becomes of the rest.
# STEPS=REGEX: only the steps of the part whose whole names match, for a lease shorter than three parts.
# Ends with 0 when nothing failed, 1 when something did, 77 without a GPU.
set -u

part=${1-}
case $part in
1 | 2 | 3 | environment | libraries) ;; # the last two: part 1 runs them, as a step is a program
*)
	sed -n '2,15s/^# \{0,1\}//p' "$0"
	exit 2
	;;
esac
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "${ROOT:-$here/..}" && pwd)
out=${2:-$root/gpu-answers-$part}
mkdir -p "$out"
out=$(cd "$out" && pwd)
# shellcheck source=tests/gpu/common.sh
. "$here/common.sh"
quick=${QUICK:-0}
deadline=$(($(date +%s) + ${PART_LIMIT_S:-540}))

# number FULL QUICK
number() {
	if [ "$quick" = 1 ]; then echo "$2"; else echo "$1"; fi
}

# --- libraries -------------------------------------------------------------------------------

site=$(python3 -c 'import site; print("\n".join(site.getsitepackages()))' 2>/dev/null)

# folder_of LIBRARY: where it lies; nothing when nowhere
folder_of() {
	for folder in ${CUDA_LIBRARIES-} "${CUDA_HOME:-/usr/local/cuda}/lib64" \
		"${CUDA_HOME:-/usr/local/cuda}/extras/CUPTI/lib64" /usr/lib/x86_64-linux-gnu \
		$(for s in $site; do ls -d "$s"/nvidia/*/lib 2>/dev/null; done); do
		[ -e "$folder/$1" ] && echo "$folder" && return
	done
	found=$(find / -xdev -name "$1" -not -path '/proc/*' 2>/dev/null | head -1)
	[ -z "$found" ] || dirname "$found"
}

path=
lacking=
for library in libcudart.so.13 libcublas.so.13 libcublasLt.so.13 libcudnn.so.9 libcupti.so.13 libnvrtc.so.13; do
	folder=$(folder_of $library)
	case $library:$folder in
	libnvrtc*:) ;;
	*:) lacking="$lacking $library" ;;
	libcupti*) export WARPSHEET_CUPTI_PATH="${WARPSHEET_CUPTI_PATH:-$folder}" ;;
	esac
	case :$path: in *":$folder:"*) ;; *) path=$path${path:+${folder:+:}}$folder ;; esac
done
# NVIDIA's, of our programs alone: Python, gcc and nvidia-smi have their machine's libraries. What
# else our programs link lies beside them, and is found by their own RUNPATH.
export WS_LIBRARY_PATH="$path"
ours() { LD_LIBRARY_PATH=$path${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} "$@"; }

# --- steps -----------------------------------------------------------------------------------

wanted() { [ -z "${STEPS-}" ] || echo "$1" | grep -qxE "$STEPS"; }

# step NAME SECONDS COMMAND...: run it with that limit, or what is left; its output is kept.
# A verdict is told for one that fails. Returns its status.
step() {
	name=$1
	wanted "$name" || return 0
	limit=${STEP_LIMIT_S:-$2}
	shift 2
	left=$((deadline - $(date +%s)))
	[ "$left" -ge "$limit" ] || limit=$left
	if [ "$left" -lt 5 ]; then
		verdict fail "$name" "no time left"
		return 124
	fi
	began=$(date +%s)
	case $1 in
	"$root"/*/gpu_* | "$root"/bin/* | compute-sanitizer) ours timeout -k 5 "$limit" "$@" ;;
	*) timeout -k 5 "$limit" "$@" ;;
	esac >"$out/$name.txt" 2>&1
	code=$?
	took=$(($(date +%s) - began))
	case $code in
	0) verdict pass "$name" "$took" s ;;
	77) verdict skip "$name" "$(tail -1 "$out/$name.txt" | cut -c 1-60 | plain)" ;;
	124 | 137) verdict fail "$name" "$took" s "within $limit s" ;;
	*) verdict fail "$name" "ended with $code" "" "0" ;;
	esac
	keep
	return $code
}

# What is known so far, where it is fetched from whatever comes: written beside, then moved.
keep() {
	[ -n "${KEEP-}" ] || return 0
	pack >/dev/null 2>&1
	for file in lines.json table.txt "answers-$part.tar.gz"; do
		[ ! -e "$out/$file" ] || { cp "$out/$file" "$KEEP/.$file" && mv "$KEEP/.$file" "$KEEP/$file"; }
	done
}

# bench NAME SECONDS ARGUMENTS of gpu_bench...: the same, its lines among the others
bench() {
	name=$1
	limit=$2
	shift 2
	# shellcheck disable=SC2046 # one argument or none
	step "$name" "$limit" "$root/tests/gpu_bench" $(number "" --quick) "$@"
	code=$?
	grep -s '^{"kind"' "$out/$name.txt" >>"$lines"
	return $code
}

# capture NAME SECONDS QUESTIONS...
capture() {
	name=$1
	limit=$2
	shift 2
	COST_LAUNCHES=$(number 200000 2000) SOAK=${SOAK:-$(number 120s 20000)} SOAK_BEFORE=${SOAK_BEFORE:-$(number 10s 2000)} \
		STEP_MODELS=${STEP_MODELS:-$(number "transformer-small resnet50" mlp)} \
		AA_MODELS=${AA_MODELS:-$(number "transformer-small resnet50 mlp" mlp)} \
		step "capture-$name" "$limit" "$here/capture.sh" "$root" "$out" "$@"
}

has_torch() {
	python3 "$here/torch_step.py" --probe >/dev/null 2>&1
}

# What programs lack is looked at first: a cold import of PyTorch takes half a minute.
libraries() {
	for program in "$root"/bin/* "$root"/tests/gpu_*; do
		echo "== $program"
		ours ldd "$program"
	done
	echo "== all programs were looked at"
}
environment() {
	nvidia-smi && nvidia-smi -q -d CLOCK,POWER
	uname -a
	cat /etc/os-release
	nproc
	free -m
	df /dev/shm /tmp
	nvcc --version
	python3 -c 'import sys, torch; print(sys.version, torch.__version__, torch.version.cuda, torch.backends.cudnn.version())'
	return 0
}

# device SUITE SECONDS [WAY [QUICK]]: the programs of tests/cuda_host on the GPU; WAY: of device_cuda.c
device() {
	suite=$1 name=device-$1${3:+-$(echo "$3" | tr ' ' -)}
	wanted "$name" || return 0
	export WS_TEST_DEVICE="${3-}"
	# the CPU's reference takes the time, a processor a test
	step "$name" "$2" "$root/tests/gpu_device" "-j$(number 4 1)" --filter "device_$suite/$(number '*' "$4")"
	must "$name: tests that ran" "$(sed -n 's/.*Tested: \([0-9]*\) .*/\1/p' "$out/$name.txt")" "" -gt 0
	unset WS_TEST_DEVICE
	# each way is right: what this machine does
	sed -n 's/^tf32:\(.*\):/\1:/p' "$out/$name.txt" | sort -u | while IFS=: read -r steps ways; do
		verdict info "$steps${3:+ ($3)}: products whose operands of TF32 are" "$ways"
	done
	# what bounds can be set by: the errors, with nothing excused, that come near theirs
	sed -n 's/^apart://p' "$out/$name.txt" | sort -u | while IFS=: read -r steps what where judged plain bound; do
		awk "BEGIN { exit !($plain > $bound / 2) }" &&
			verdict info "$steps${3:+ ($3)}: $what apart from the CPU's, most of $where" "$plain, judged $judged" "" "at most $bound"
	done
}

# What is worth most comes first: does recording work, is it whole, what does it cost, are the
# kernels right.
part_1() {
	if wanted libraries; then
		step libraries 15 sh "$here/sit.sh" libraries "$out"
		must "libraries that a program lacks" "$(grep -c '=> not found' "$out/libraries.txt")" "" -eq 0
		must "programs whose libraries were looked at" "$(grep -c 'all programs were looked at' "$out/libraries.txt")" "" -eq 1
	fi
	verdict info "shared memory for the segment" "$(df -m /dev/shm 2>/dev/null | awk 'NR == 2 { print $4 }')" MiB
	capture first 40 buffers calls ends refused graphs new versions
	capture names 60 names
	capture cost 60 cost
	# no GPU has run these since they became cuDNN's: batch norms, log_softmax
	device functions 25 "" log_softmax_and_its_gradient
	device elementwise 25 "" gradients_of_activations
	device fused 40 "" gradients_are_unscaled_and_what_is_not_finite_is_found
	device image 25 "" dropout_draws_what_the_reference_draws
	device attention 25 "" of_small_heads_is_the_cpu_s
	device steps 100 "" of_vgg11_are_the_cpu_s
	device steps 45 "free autotune" of_lenet5_are_the_cpu_s
	# the stub computes when it is asked, and has nothing to record
	[ "${WITHOUT_GRAPHS-}" = 1 ] || device steps 45 graph of_mlp_are_the_cpu_s
	bench ceilings 20 ceilings
	# shellcheck disable=SC2046 # one argument or none
	bench kernels 60 kernels $(number "" fp32)
	step environment 30 sh "$here/sit.sh" environment "$out"
}

# beside_torch SECONDS SESSIONS of torch_steps.py...
beside_torch() {
	limit_s=$1
	shift
	for session in "$@"; do
		step "beside-torch-$(echo "$session" | tr : -)" "$limit_s" \
			python3 "$here/torch_steps.py" "$root/tests/gpu_bench" "$session"
		grep -s '^{"kind"' "$out/$name.txt" >>"$lines"
	done
}

# ours_alone SECONDS MODEL DTYPE BATCH CONTEXT [OPTIONS of gpu_bench]: where there is no PyTorch
ours_alone() {
	limit_s=$1 model=$2 dtype=$3 batch=$4 context=$5
	shift 5
	bench "steps-$model-$dtype$(echo "$*" | tr -d ' ')" "$limit_s" "$@" steps "$model" "$dtype" full \
		"$(number "$batch" 1)" "$(number "$context" 64)" "$(number 3 1)" "$(number 20 2)"
}

# Whole steps, beside PyTorch's where it is: eager first, as it needs no compiler.
part_2() {
	large=transformer-$(number large small)
	if has_torch; then
		export TORCHINDUCTOR_CACHE_DIR="$out/../inductor-cache"
		beside_torch 45 transformer-small:amp-bf16:16:512 "$large:amp-bf16:4:512" \
			"$large:amp-bf16:4:512:fused"
		beside_torch 60 resnet50:amp-bf16:128:0
		beside_torch 45 transformer-small:tf32:16:512 transformer-small:amp-fp16:16:512
		beside_torch 75 "$large:amp-bf16:4:512:fused:compiled" transformer-small:fp32:16:512:compiled
	else
		verdict skip "the same steps in PyTorch" "not here"
		ours_alone 45 transformer-small amp-bf16 16 512
		ours_alone 45 "$large" amp-bf16 4 512
		ours_alone 45 "$large" amp-bf16 4 512 --fused-attention
		bench steps-resnet50 60 --nhwc steps resnet50 amp-bf16 full "$(number 128 2)" 0 "$(number 3 1)" "$(number 20 2)"
	fi
	capture steps 90 steps
	capture aa 150 aa
	bench steps-resnet50-nchw 30 steps resnet50 amp-bf16 full "$(number 128 2)" 0 "$(number 3 1)" "$(number 20 2)"
	for trace in small:transformer-small resnet:resnet50; do
		step "trace-${trace%%:*}" 45 "$root/bin/warpsheet-record" -o "$out/gpu-${trace%%:*}.wtrace" -- \
			"$root/bin/warpsheet-step" --model "${trace#*:}" --device cuda --dtype amp-bf16 \
			--fusion full --steps 3 --batch "$(number 4 1)"
		! wanted "$name" || ours "$root/bin/warpsheet" report "$out/gpu-${trace%%:*}.wtrace" \
			--table kernel-summary --format csv >"$out/kernels-${trace%%:*}.csv"
	done
	capture compiled 90 compiled
}

part_3() {
	capture hook 90 hook
	capture torch 120 torch
	capture soak 180 soak
	capture costs 90 costs busy
	# of segments that do not lie in /dev/shm: in a folder of nobody else's
	(umask 077 && mkdir -p "$out/segments")
	step segment-dir 30 "$root/bin/warpsheet-record" -o "$out/segment-dir.wtrace" --segment-dir "$out/segments" -- \
		"$root/tests/gpu_launches" runtime 1000 exit "$out/tally"
	rm -rf "$out/segment-dir.wtrace" "$out/segments"
	if command -v compute-sanitizer >/dev/null 2>&1; then
		for suite in fused image elementwise; do
			for tool in racecheck memcheck; do
				step "sanitizer-$tool-$suite" 60 compute-sanitizer --tool $tool --target-processes all \
					--error-exitcode 1 "$root/tests/gpu_device" -j1 --filter "device_$suite/*"
			done
		done
	else
		verdict skip "compute-sanitizer" "not here"
	fi
}

# --- the end ---------------------------------------------------------------------------------

# Most of 16 MB is traces: the largest are left out until the rest fits.
pack() {
	if ! python3 "$here/table.py" "$lines" >"$out/table.txt" 2>"$out/table-problem.txt"; then
		cp "$out/shown.txt" "$out/table.txt"
	fi
	rm -f "$out/table-problem.txt"
	while :; do
		tar -C "$out" --exclude "answers-$part.tar.gz" -czf "$out/answers-$part.tar.gz" . 2>/dev/null
		[ "$(wc -c <"$out/answers-$part.tar.gz")" -ge 16000000 ] || break
		largest=$(find "$out" -name '*.wtrace' -printf '%s %p\n' | sort -n | tail -1 | cut -d ' ' -f 2-)
		[ -n "$largest" ] || break
		verdict fail "left out of the archive" "$(basename "$largest")" "" "under 16 MB"
		rm -f "$largest"
	done
}

case $part in
environment | libraries)
	"$part"
	exit 0
	;;
esac
: >"$lines"
code=0
ours timeout -k 5 60 sh "$here/with_gpu.sh" "$root/bin/warpsheet-step" >"$out/probe.txt" 2>&1 || code=$?
[ $code -ne 77 ] || {
	cat "$out/probe.txt"
	exit 77
}
{
	verdict info "$(head -1 "$out/probe.txt" | plain)"
	# a step that fails says nothing of what the others do
	[ $code -eq 0 ] || verdict fail "a step on the GPU" "ended with $code" "" "0"
	for library in $lacking; do
		verdict fail "library $library" "not found" "" "somewhere"
	done
	"part_$part"
} | tee "$out/shown.txt" &
telling=$!
# whoever ends this before its time gets what is known
trap 'pack; keep; exit 143' TERM INT
wait $telling
trap - TERM INT
pack
keep
# what is shown is cut: kernels are in the table, which comes back
grep -v '^[a-z]* *kernel: ' "$out/table.txt" >"$out/shown.txt"
! grep -q '^fail' "$out/table.txt"
