warpsheet record --merge a.wtrace b.wtrace
