warpsheet report fixtures/traces/step-fp32.wtrace --table steps --format md
warpsheet report fixtures/traces/empty.wtrace --table kernel-summary --format md | tail -n 3
warpsheet report fixtures/traces/step-fp32.wtrace --table summary --format md | head -n 40
