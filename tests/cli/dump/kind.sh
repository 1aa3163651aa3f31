warpsheet dump --kind kernel fixtures/traces/killed.wtrace
