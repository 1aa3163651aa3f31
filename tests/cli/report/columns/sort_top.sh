warpsheet report fixtures/traces/step-fp32.wtrace --table cuda_gpu_kern_sum --sort avg,asc --top 3
