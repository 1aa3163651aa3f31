# A page of so many lines that looking at all of them for each takes minutes: it takes a tenth of a second.
lines="WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 99999)
  SELECT 'Long' AS section, 'line' AS item, NULL AS text, i AS count FROM n"
ulimit -t 60
for form in text md; do
	warpsheet query fixtures/traces/empty.wtrace "$lines" --rows 0 --format $form | tail -1
done
