# without device work there is none from which to which the report is
warpsheet report fixtures/traces/empty.wtrace --table ranges
