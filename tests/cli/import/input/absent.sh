warpsheet import absent.json -o t.wtrace
