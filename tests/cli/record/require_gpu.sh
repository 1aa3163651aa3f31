warpsheet record --require-gpu -o x.wtrace -- true
