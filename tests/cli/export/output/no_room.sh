# a database that the file system has no room for: nothing of it stays. That of the second is written
# before it is complete, so the failure comes while there are tables to make
trap '' XFSZ
ulimit -f 16
warpsheet export fixtures/traces/step-bf16.wtrace -o t.sqlite; status=$?
warpsheet export fixtures/recorded/h100/torch.wtrace -o t.sqlite; echo $status $?
ls -A
exit $status
