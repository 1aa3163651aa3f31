warpsheet gate --baseline base --workload step --update fixtures/recorded/grid/transformer-small-context16-fp32-r1.wtrace 2>/dev/null
warpsheet gate --baseline base --workload step --format csv fixtures/recorded/grid/transformer-small-context8-fp32-r1.wtrace
