warpsheet report fixtures/traces/step-fp32.wtrace --table nvtx_sum --sort exclusive_ns --top 5
