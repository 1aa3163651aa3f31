mkdir base
warpsheet gate --baseline base --format csv fixtures/traces/step-fp32.wtrace
