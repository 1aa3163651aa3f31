warpsheet report fixtures/traces/step-fp32.wtrace --table whatif --format csv --whatif 'class=gemm x0.5' --whatif 'gpu=MI300X'
