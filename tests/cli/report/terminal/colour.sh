warpsheet report fixtures/traces/empty.wtrace --table steps --color always | cat -v
