warpsheet export fixtures/traces/step-bf16.wtrace
