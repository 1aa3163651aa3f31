warpsheet repotr x.wtrace
