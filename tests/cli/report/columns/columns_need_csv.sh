warpsheet report fixtures/traces/step-bf16.wtrace --table classes --columns share
