# a folder where a table shall be, a disk that becomes full, a file in the place of the folder, a trace that is not there
mkdir -p out/counter.parquet && warpsheet export fixtures/traces/step-bf16.wtrace -o out --format parquet; echo $? && ls out
trap '' XFSZ
(ulimit -f 4 && warpsheet export fixtures/traces/step-bf16.wtrace -o full --format parquet; echo $?); ls full
echo text >file && warpsheet export fixtures/traces/step-bf16.wtrace -o file --format parquet; echo $? && cat file
warpsheet export absent.wtrace -o none --format parquet; echo $?; ls none || true
