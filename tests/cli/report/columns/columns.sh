# in the order asked for, by id or title; times alone need no joins
warpsheet report fixtures/traces/step-bf16.wtrace --table kernel-launches --format csv --columns 'Name,instances,total_ns' | head -3
