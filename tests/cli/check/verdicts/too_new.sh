warpsheet check fixtures/broken/too-new.wtrace
