warpsheet report fixtures/traces/step-bf16.wtrace --table class --columns class,share,gpu_ns
