warpsheet export fixtures/traces/step-bf16.wtrace -o gone/t.json.gz; a=$?
warpsheet export fixtures/traces/step-bf16.wtrace --format json -o /dev/full; b=$?
echo $a $b
# no file may have a byte, then one is full in the middle; through a pipe, as what is said here goes into files, too
(trap '' XFSZ; ulimit -f 0
warpsheet export fixtures/traces/step-bf16.wtrace -o t.json.gz; echo $?) 2>&1 | cat
(trap '' XFSZ; ulimit -f 20
warpsheet export fixtures/recorded/h100/torch.wtrace -o t.json.gz; echo $?) 2>&1 | cat
ls -A
