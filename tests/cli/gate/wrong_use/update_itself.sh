warpsheet gate --baseline base --workload step --update fixtures/traces/step-*32.wtrace fixtures/traces/step-*16.wtrace
warpsheet gate --baseline ./base/ --workload step --update base/step/*/run-2.wtrace
