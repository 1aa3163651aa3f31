COLUMNS=60 warpsheet report --table kernel-summary fixtures/traces/step-fp32.wtrace
