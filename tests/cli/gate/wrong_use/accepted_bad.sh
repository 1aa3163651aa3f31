mkdir base
warpsheet gate --baseline base --today 01/12/2026 fixtures/traces/step-fp32.wtrace
echo 'tomorrow step * 70 the driver of December' >accepted
warpsheet gate --baseline base --accept accepted fixtures/traces/step-fp32.wtrace
word=sixteen-letters-
for line in '2026-99-99 * * 1000 x' '2099-01-01 * * inf x' '2099-01-01 * * 0x100 x' '2099-01-011 * * 5 x' \
	'2026-12-31 * * 10' '31.12.2026 * * 10 x' '2026-12-31 * * ten x' '2026-12-31 * *' '2026-12-31 * * -1 x' \
	'2026-12-31 * * 1e3 x' '2026-12-31 * * 1. x' '2026-12-31 * * +5 x' '2026-12-31 * * 5%% x' '2026-02-29 * * 5 x' \
	'2100-02-29 * * 5 x' '2026-00-10 * * 5 x' '2026-04-31 * * 5 x' "2026-12-31 * $word$word$word$word 5 x"; do
	echo "$line" >accepted
	warpsheet gate --baseline base --accept accepted fixtures/traces/step-fp32.wtrace
done
printf '# a comment\n2099-01-01 * * 5 \0x\n' >accepted
warpsheet gate --baseline base --accept accepted fixtures/traces/step-fp32.wtrace
