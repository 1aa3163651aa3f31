# a name with a quote in it, a number that is none, and the end is missing
cat >t.json <<'EOF'
{"schemaVersion": 1, "traceEvents": [
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 2, "ts": 10, "dur": 5, "args": {"correlation": 7}},
{"ph": "X", "cat": "kernel", "name": "say "hi" twice", "pid": 0, "tid": 7, "ts": 12, "dur": 5},
{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 20.5, "dur": 1.25, "args": {"correlation": 7, "memory bandwidth (GB/s)": NaN}},
{"ph": "X", "cat": "kernel", "name": "cut off", "pid": 0, "tid": 7, "ts": 30,
EOF
warpsheet import t.json -o t.wtrace
warpsheet query t.wtrace "SELECT * FROM loss_record" --format csv
