warpsheet report fixtures/traces/empty.wtrace -o all.xlsx --format csv
