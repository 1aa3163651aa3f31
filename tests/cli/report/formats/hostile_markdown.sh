warpsheet report fixtures/traces/hostile.wtrace --table kernel-summary --format md | cut -c1-300
