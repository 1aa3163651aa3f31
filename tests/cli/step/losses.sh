# losses of three steps as CSV, words to stderr; of every optimizer, loss scale and dtype the third is near ln 256
tiny='--model transformer-tiny --context 8 --batch 1 --warmup 1 --steps 2'
warpsheet-step $tiny --dump-loss 2>words | cut -d, -f1,2
grep -c 'device cpu' words
warpsheet-step $tiny 2>/dev/null
last() {
	echo "$*: $(warpsheet-step $tiny "$@" --dump-loss 2>words | tail -n 1 | cut -d, -f3 |
		awk '{ print (NF && $1 > 4.5 && $1 < 6.5 ? "learns" : "loss " $1) }')"
	grep -o 'has no loss scale.*\|--epsilon is.*\|the loss is not finite in step 1' words
}
last --optimizer sgd --lr 0.1 --momentum 0 --weight-decay 1e-4
last --optimizer adam --epsilon 1e-4 --dtype fp16
last --dtype amp-fp16 --loss-scale static:256
last --dtype fp16-master --loss-scale none
last --dtype fp16-master --loss-scale dynamic
last --dtype fp32 --loss-scale none
# one grid can hold fp32 beside fp16: a loss scale is ignored with a word where the dtype has none
for dtype in fp32 amp-bf16 fp16; do
	last --dtype $dtype --loss-scale static:256
done
# in fp16 the usual epsilon is 0, and a step 0 / 0
last --dtype fp16
last --dtype fp16 --epsilon 1e-8
last --dtype bf16
# whatever the number of threads
for threads in 1 3; do
	warpsheet-step $tiny --threads $threads --dump-loss 2>/dev/null >threads-$threads
done
paste -d, threads-1 threads-3 | awk -F, 'NR > 1 && ($3 - $6) ^ 2 < 1e-8 { same++ } END { print same " of " NR - 1 " are the same" }'
# images and signals
losses() {
	warpsheet-step "$@" --batch 2 --warmup 0 --steps 1 --dump-loss 2>/dev/null | sed 's/,[0-9.e+-]*$/,N/'
}
losses --model lenet5 --image-size 32 --channels 3 --classes 4 --layout nhwc --activation tanh --loss mse --init xavier --width-divisor 2
losses --model conv1d-resnet --layers 2 --kernel-width 5 --depth-multiplier 2 --residual no --image-size 32
