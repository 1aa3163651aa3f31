warpsheet import fixtures/broken/no-trace.wtrace -o t.wtrace
