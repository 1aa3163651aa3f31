warpsheet report fixtures/traces/step-fp32.wtrace --table classes --format csv --sort kernels --columns class
