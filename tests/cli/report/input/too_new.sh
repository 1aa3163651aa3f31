warpsheet report fixtures/broken/too-new.wtrace
