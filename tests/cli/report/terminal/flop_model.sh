# a product of known FLOPs took 30 us of the GPU, an operation without a model 10 us
args() {
	printf '"External id": %s, "correlation": %s' $1 $1
}
op() { # op ID NAME BEGIN DIMS
	printf '{"ph": "X", "cat": "cpu_op", "name": "%s", "pid": 1, "tid": 1, "ts": %s.5, "dur": 9, "args": {"External id": %s%s}},\n' $2 $3 $1 "$4"
}
kernel() { # kernel ID NAME BEGIN DURATION
	printf '{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": %s.5, "dur": 1, "args": {%s}},\n' $3 "$(args $1)"
	printf '{"ph": "X", "cat": "kernel", "name": "%s", "pid": 0, "tid": 7, "ts": %s.5, "dur": %s, "args": {%s, "device": 0, "stream": 7}}%s\n' $2 $(($3 + 50)) $4 "$(args $1)" "${5:-}"
}
{
	echo '{"baseTimeNanoseconds": 1700000000000000000, "traceEvents": ['
	op 11 aten::mm 100 ', "Input Dims": [[2, 3], [3, 4]], "Input type": ["float", "float"]'
	kernel 11 gemm 102 30 ,
	op 12 aten::mystery 200 ', "Input Dims": [[2, 3]], "Input type": ["float"]'
	kernel 12 mystery 202 10
	echo ']}'
} >t.json
warpsheet import t.json -o t.wtrace >import.txt
warpsheet report t.wtrace --table roofline --format csv | cut -d, -f1-10
warpsheet report t.wtrace --table roofline | grep 'no FLOPs'
