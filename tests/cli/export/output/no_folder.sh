warpsheet export fixtures/traces/step-bf16.wtrace -o no/folder/t.sqlite
