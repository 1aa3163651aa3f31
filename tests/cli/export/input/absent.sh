warpsheet export absent.wtrace -o t.sqlite; status=$?
ls
exit $status
