warpsheet report fixtures/traces/empty.wtrace -o absent/all.xlsx
