#!/bin/sh
# What the CUDA backend asks of CUDA, cuBLAS and cuDNN, told by the stub: asked.sh BUILD
set -u
build=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export LD_LIBRARY_PATH="$build/tests/stub_cuda" WS_STUB_LOG="$work/log"
bad=0

fail() {
	echo "asked.sh: $*" >&2
	bad=1
}

# step CODE ARGUMENTS...: a step of a model; its log is new
step() {
	wanted=$1
	shift
	rm -f "$WS_STUB_LOG"
	"$build/bin/warpsheet-step" --device cuda --steps 2 --warmup 0 --batch 1 "$@" >"$work/said" 2>&1
	code=$?
	[ $code -eq "$wanted" ] || fail "$*: ended with $code, not $wanted: $(tail -1 "$work/said")"
}

asked() { # asked WORDS: they are a line, or the beginning of one
	grep -q "^$1\( \|\$\)" "$WS_STUB_LOG" || fail "not asked: $1"
}

never() {
	! grep -q "$1" "$WS_STUB_LOG" || fail "asked, and must not be: $(grep -m 1 "$1" "$WS_STUB_LOG")"
}

said() {
	grep -q "$1" "$work/said" || fail "not said: $1, but: $(cat "$work/said")"
}

# sums of products are put together in fp32: CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION
step 0 --model transformer-tiny --dtype amp-bf16
asked "cublas math 16"
asked "cublas workspace 33554432"
never "compute 64" # CUBLAS_COMPUTE_16F
step 0 --model transformer-tiny --dtype amp-bf16 --autotune
asked "cublaslt proposals 8 workspace 33554432 reductions 2"
step 0 --model transformer-tiny --dtype tf32
grep -q 'compute 77$' "$WS_STUB_LOG" || fail "tf32 without CUBLAS_COMPUTE_32F_FAST_TF32"
step 0 --model transformer-tiny
never 'compute 77$'

# engines: of those proposed, in their order, the first that suits
step 0 --model lenet5 --dtype amp-bf16
asked "cudnn plan tensor-core"
never "execute .* half-sums"
step 0 --model lenet5
asked "cudnn plan winograd"
never "execute .* tensor-core"
step 0 --model lenet5 --deterministic
grep -q '^cudnn execute .* implicit$' "$WS_STUB_LOG" || fail "deterministic: the plain engine is not used"
never "execute .* \(winograd\|fft\|split\|tensor-core\|half-sums\|greedy\)"
step 0 --model lenet5 --dtype tf32
asked "cudnn plan tensor-core"
never "execute .* winograd"

# batch norms and log_softmax are cuDNN's; a batch norm never by scaled whole numbers (persistent)
step 0 --model resnet18 --image-size 64 --width-divisor 16
asked "cudnn batch norm spatial"
asked "cudnn batch norm grad spatial"
asked "cudnn log softmax"
asked "cudnn log softmax grad"
# … on numbers of channels in fp32, into which those of 16 bits are copied
step 0 --model resnet18 --image-size 64 --width-divisor 16 --dtype fp16 --layout nhwc
asked "cudnn batch norm grad spatial"

step 0 --model transformer-tiny --dtype amp-bf16 --attention fused
asked "cudnn plan tensor-core"
step 2 --model transformer-tiny --dtype tf32 --attention fused
said "attention eager"

# one block for all tensors, and no allocation in a step
step 0 --model transformer-tiny
once=$(grep -c '^cudaMalloc' "$WS_STUB_LOG")
step 0 --model transformer-tiny --steps 9
[ "$(grep -c '^cudaMalloc' "$WS_STUB_LOG")" = "$once" ] || fail "steps allocate"
step 0 --model transformer-tiny --cuda-graph --steps 4

# cuDNN 9.10.2 to 9.15.0: attention backwards wants a padding mask where the context is no multiple of 128
for version in 91002 91500; do
	WS_STUB_CUDNN=$version step 0 --model transformer-tiny --dtype amp-bf16 --attention fused --context 128
	WS_STUB_CUDNN=$version step 2 --model transformer-tiny --dtype amp-bf16 --attention fused --context 96
	said "9.15.1"
done
WS_STUB_CUDNN=91501 step 0 --model transformer-tiny --dtype amp-bf16 --attention fused --context 96
WS_STUB_CUDNN=91001 step 2 --model transformer-tiny --dtype amp-bf16 --attention fused --context 128
said "9.10.2"

# what cannot be
step 5 --model transformer-small --memory-limit 64
said "bytes"
WS_STUB_GPUS=0 step 5 --model transformer-tiny
said "sees no GPU"
step 2 --model transformer-tiny --gpu 3
[ $bad -eq 0 ] && echo "all as it must be"
exit $bad
