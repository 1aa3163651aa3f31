warpsheet report fixtures/traces/step-fp32.wtrace --timeline 9 -o page.html
