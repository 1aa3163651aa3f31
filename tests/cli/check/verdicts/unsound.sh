# a law is broken: the file is whole, and what it holds cannot be
cat > early.json <<'E'
{"traceEvents":[{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":100,"dur":5,"args":{"correlation":1}},
{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":50,"dur":10,"args":{"device":0,"stream":7,"correlation":1}}]}
E
warpsheet check early.json 2>/dev/null; echo $?
warpsheet import early.json -o early.wtrace 2>/dev/null >/dev/null
warpsheet check early.wtrace; echo $?
