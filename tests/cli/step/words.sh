# a device is chosen with its reason; one that is asked for and absent is refused with the cure
tiny='--model transformer-tiny --context 8 --batch 1 --warmup 1 --steps 1'
warpsheet-step $tiny --device auto 2>&1 | grep -c 'built without the CUDA toolkit\|no NVIDIA driver\|sees no GPU\|a GPU answers'
warpsheet-step $tiny --device cuda >words 2>&1
case $? in
0) ;; # there is one: tests/gpu/
5) grep -q -- '--device cuda: ' words && grep -q 'use --device cpu' words || cat words ;;
*) cat words ;;
esac
warpsheet-step --model toy-mixed --dtype amp-bf16 --print-dtypes 2>&1 | grep 'What  \|ln.bias\|fc1/linear\|ln/add\|fc2/linear\|nll_loss'
# help has every option and model
warpsheet-step --help >help
sed -n 's/^\t*WS_OPTION([A-Za-z_0-9]*, "\([a-z-]*\)".*/\1/p' "$(dirname "$(readlink -f fixtures)")/kernels/run/options.def" >options
[ -s options ] || echo 'no options'
while read -r option; do
	grep -q -- "--$option" help || echo "no --$option"
done <options
warpsheet-step --version | sed 's/[0-9.]*$/N/'
