warpsheet export fixtures/traces/step-bf16.wtrace --format perfetto -o /dev/full
