# a name that a terminal would obey is shown, not sent
name=$(printf 'a\033]0;owned\007\302\233')
cp fixtures/traces/step-fp32.wtrace "$name.wtrace"
cp fixtures/imports/alexnet-a100.json.gz "$name.json.gz"
{
	warpsheet info "$name.wtrace" | head -n 1
	warpsheet check "$name.wtrace"
	warpsheet check "$name.json.gz"
	warpsheet import "$name.json.gz" -o "$name.3" | head -n 1
	warpsheet info "$name"
	warpsheet check "$name"
	warpsheet import "$name" -o x.wtrace
	warpsheet export "$name.wtrace" -o "$name.4"
	warpsheet-record -o "$name" -- /no/such/"$name"
} 2>&1 | sed -E 's/[0-9]+ (blocks|rows|records|kernels|bytes)/N \1/g'
