warpsheet record --require-gpu --pytorch -o x.wtrace -- true
