# the bar is as wide as the terminal, and its parts have their share
for width in 80 100 160; do
	COLUMNS=$width warpsheet report fixtures/traces/step-fp32.wtrace | sed -n '/Where the step goes/,/^$/p'
done
