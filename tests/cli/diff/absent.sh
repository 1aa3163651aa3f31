warpsheet diff fixtures/traces/step-fp32.wtrace absent.wtrace
