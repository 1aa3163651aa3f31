warpsheet export fixtures/traces/step-bf16.wtrace -o gone/t.json.gz; a=$?
ln -s /dev/full t.json.gz
warpsheet export fixtures/traces/step-bf16.wtrace -o t.json.gz; b=$?
ln -s /dev/full t.json
warpsheet export fixtures/traces/step-bf16.wtrace -o t.json; c=$?
echo $a $b $c
ls
