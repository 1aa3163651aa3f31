warpsheet report fixtures/traces/step-fp32.wtrace --table classes --nvtx forward --by gpu-time --time 1ms..2ms --stream 7 --process 4242
