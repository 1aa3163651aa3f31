# what is wrong with a command line, each with its status
tiny='--model transformer-tiny --context 8 --batch 1 --warmup 1 --steps 2'
small='--model lenet5 --batch 2 --warmup 0 --steps 1'
refused() {
	warpsheet-step "$@" 2>said >/dev/null
	status=$?
	# the device, its threads and its memory are the machine's
	sed '/: device c\|: try --help/d; s/device has [0-9]\{8,\}/device has N/' said
	[ $status = 2 ] || echo "status $status"
}
refused
refused --model resnet9
refused --modle lenet5
for wrong in '--dtype fp17' '--phase sideways' '--batch 0' '--batch 4x' '--steps 99999999999999999999' '--context' '--frobnicate' 'stray' \
	'--device tpu' '--phase forward --dump-loss' '--optimizer rmsprop' '--momentum 0.9' '--optimizer sgd --epsilon 0.1' \
	'--phase forward --lr 0.1' '--lr fast' '--lr nan' '--lr -1' '--dtype amp-fp16 --loss-scale 256' \
	'--dtype amp-fp16 --loss-scale static:0' '--dtype amp-fp16 --loss-scale static:1e39' \
	'--dtype amp-fp16 --phase forward --loss-scale none' '--describe --print-dtypes' '--batch 2000000000 --context 2000000000' \
	'--device cpu --autotune' '--device cpu --cuda-graph' '--device cpu --gpu 1' '--streams 2' '--conv-engine legacy' '--fusion some' \
	'--layout nhwc'; do
	refused $tiny $wrong
done
for wrong in '--layout nwhc' '--activation gelu' '--loss hinge' '--init zero' '--image-size 0' '--image-size 8' '--context 8' '--layers 8' \
	'--kernel-width 8'; do
	refused $small $wrong
done
refused --model conv1d-resnet --kernel-width 4
# told by the plan: not a byte of it is allocated
refused --device cpu --model transformer-2.7b --batch 100000 --context 1024
refused $tiny --device cpu --memory-limit 1
warpsheet-step --device cpu --model resnet50 --batch 1000000 2>&1 | grep -o 'out of memory'
warpsheet-step $tiny --dump-loss 2>said >/dev/full
echo "status $?"
tail -n 1 said
