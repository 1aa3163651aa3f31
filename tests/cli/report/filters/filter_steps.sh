warpsheet report --steps 1..2 fixtures/traces/step-fp32.wtrace --table steps
