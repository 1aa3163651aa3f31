# What the first lines of a page say of a trace of PyTorch's profiler, JSON EVENT…: start-up, a capture,
# late work that nothing held back, and other devices than GPUs.
gpu='{"id":0,"name":"NVIDIA H100 80GB HBM3","computeMajor":9,"computeMinor":0,"numSms":132}'
event() { # CATEGORY NAME TS DUR CORRELATION: of the host
	printf ',{"ph":"X","cat":"%s","name":"%s","pid":1,"tid":1,"ts":%s,"dur":%s,"args":{"correlation":%s}}' "$@"
}
kernel() { # NAME TS DUR CORRELATION
	printf ',{"ph":"X","cat":"kernel","name":"%s","pid":0,"tid":7,"ts":%s,"dur":%s,"args":{"device":0,"stream":7,"correlation":%s,"grid":[4096,1,1],"block":[256,1,1]}}' "$@"
}
page() { # TITLE DEVICES EVENTS
	printf '{"schemaVersion":1,"deviceProperties":[%s],"traceEvents":[{"ph":"M","name":"process_name","pid":1,"args":{"name":"python"}}%s]}' "$2" "$3" >trace.json
	echo "== $1"
	warpsheet report trace.json 2>/dev/null | sed -n '4,/^$/p; /^Cannot tell: the host captured/p'
}
work=$(event cuda_runtime cudaLaunchKernel 0 5 1; kernel k 10 100 1)

page 'a first launch of 600 ms' "$gpu" "$work$(event cuda_runtime cudaLaunchKernel 120 600000 2; kernel other 600130 900 2)"
page 'another launch of 600 ms' "$gpu" "$work$(event cuda_runtime cudaLaunchKernel 120 600000 2; kernel k 600130 900 2)"
page 'launches that a graph captured' "$gpu" "$work$(event cuda_runtime cudaStreamBeginCapture 200 5 2
event cuda_runtime cudaLaunchKernel 300 5 3
event cuda_runtime cudaLaunchKernel 400 5 4
event cuda_runtime cudaStreamEndCapture 500 5 5
event cuda_runtime cudaLaunchKernel 600 5 6
kernel k 610 100 6)"
page 'late work that nothing held back' "$gpu" "$work$(event cuda_runtime cudaLaunchKernel 20 5 2; kernel k 1000 100 2)"
page 'late work behind a wait for an event' "$gpu" "$work$(event cuda_runtime cudaStreamWaitEvent 15 2 3
event cuda_runtime cudaLaunchKernel 20 5 2
kernel k 1000 100 2)"
page 'operations alone' '' "$(event cpu_op aten::mm 0 100 0)"
page 'operations of a GPU' '' "$(event cpu_op aten::cudnn_convolution 0 100 0)"
page 'records of a device that is not known' '' "$(event cpu_op aten::mm 0 100 0; event mtia_ccp_events matmul 10 50 0)"
