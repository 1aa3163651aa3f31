warpsheet record -o "%p.wtrace" -- true 2>/dev/null
warpsheet record --merge ./*.wtrace -o all.wtrace
warpsheet info all.wtrace | grep record.merged
