warpsheet report fixtures/traces/hostile.wtrace --table kernel-summary --format csv | cut -c1-160 | cat -v
