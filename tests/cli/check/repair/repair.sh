# damaged in, whole out; what was lost stays on record
warpsheet check fixtures/broken/flipped-bit.wtrace --repair out.wtrace
echo "status $?"
warpsheet check out.wtrace
warpsheet dump out.wtrace --kind meta | grep repair
