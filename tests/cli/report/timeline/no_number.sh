warpsheet report fixtures/traces/step-fp32.wtrace --timeline all -o page.html
