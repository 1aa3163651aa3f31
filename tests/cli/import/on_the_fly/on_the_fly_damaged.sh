printf '{"traceEvents": [{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 20, "dur": 5},
{"ph": "X", "cat": "kernel", "name": "cut off", "pid": 0, "tid": 7, "ts": 30,' >t.json
warpsheet check t.json
