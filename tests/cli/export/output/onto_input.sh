cp fixtures/traces/step-bf16.wtrace t.wtrace
warpsheet export t.wtrace --format sqlite -o ./t.wtrace
