# a device that has no room; and nothing half-written stays beside an old file
warpsheet export fixtures/traces/step-bf16.wtrace --format sqlite -o /dev/full
