echo 'tomorrow step * 70 the driver of December' >accepted
warpsheet gate --baseline base --accept accepted fixtures/traces/step-fp32.wtrace
