warpsheet record -o "100%.wtrace" -- true
ls
