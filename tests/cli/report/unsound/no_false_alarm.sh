# no recording or import at hand breaks a law; prints those that do
for trace in fixtures/recorded/*/*.wtrace fixtures/traces/*.wtrace fixtures/imports/*.json.gz; do
	found=$(warpsheet report "$trace" --table soundness --format csv 2>/dev/null | tail -n +2)
	[ -z "$found" ] || echo "$trace: $found"
	n=$((${n:-0} + 1))
done
[ "$n" -gt 20 ] && echo "all looked at"
