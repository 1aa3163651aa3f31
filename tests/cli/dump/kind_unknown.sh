warpsheet dump fixtures/traces/empty.wtrace --kind kernal
