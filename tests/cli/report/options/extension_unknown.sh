warpsheet report fixtures/traces/empty.wtrace -o all.foo
