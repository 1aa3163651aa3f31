cp fixtures/broken/truncated.wtrace t.wtrace
ln -s t.wtrace link.wtrace
warpsheet check t.wtrace --repair link.wtrace
status=$?
cmp fixtures/broken/truncated.wtrace t.wtrace
exit $status
