warpsheet gate --baseline base --today 01/12/2026 fixtures/traces/step-fp32.wtrace
echo 'tomorrow step * 70 the driver of December' >accepted
warpsheet gate --baseline base --accept accepted fixtures/traces/step-fp32.wtrace
