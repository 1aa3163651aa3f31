warpsheet dump fixtures/traces/hostile.wtrace --kind string | cut -c1-200
