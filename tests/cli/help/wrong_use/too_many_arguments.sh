warpsheet info a.wtrace b.wtrace
