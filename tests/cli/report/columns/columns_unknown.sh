warpsheet report fixtures/traces/step-bf16.wtrace --table classes --format csv --columns share,klass
