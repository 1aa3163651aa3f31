unset COLUMNS; warpsheet report --table steps fixtures/traces/step-fp32.wtrace
