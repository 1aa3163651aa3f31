warpsheet record -o x.wtrace -- sh -c "exit 7"
