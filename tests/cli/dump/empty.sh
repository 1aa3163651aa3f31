warpsheet dump fixtures/traces/empty.wtrace | sed "/^block 1 /,\$!d"
