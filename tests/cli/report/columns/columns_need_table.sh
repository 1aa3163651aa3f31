warpsheet report fixtures/traces/step-bf16.wtrace --columns share
