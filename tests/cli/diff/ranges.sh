# a tree, with the grade in view
COLUMNS=100 warpsheet diff fixtures/traces/step-fp32.wtrace fixtures/traces/step-bf16.wtrace --table diff-ranges
