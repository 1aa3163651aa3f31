# a database that the file system has no room for: nothing of it stays
trap '' XFSZ
ulimit -f 16
warpsheet export fixtures/traces/step-bf16.wtrace -o t.sqlite; status=$?
ls -A
exit $status
