echo no folder >base
warpsheet gate --baseline base fixtures/traces/step-fp32.wtrace
echo "status $?" >&2
warpsheet gate --baseline base --update fixtures/traces/step-fp32.wtrace
echo "status $?" >&2
warpsheet gate --baseline bsae fixtures/traces/step-fp32.wtrace
echo "status $?" >&2
