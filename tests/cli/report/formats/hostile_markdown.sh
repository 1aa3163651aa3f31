warpsheet report fixtures/traces/hostile.wtrace --table kernel-summary --format md | cut -c1-300
# what the user asks for notifies nobody, too
warpsheet report fixtures/traces/hostile.wtrace --table classes --kernel '@SUM|#1$' --format md | grep Filter
