warpsheet report fixtures/traces/step-fp32.wtrace --table kernel-summary --rows 3 --nvtx "step#1..2" --kernel "gemm|softmax"
