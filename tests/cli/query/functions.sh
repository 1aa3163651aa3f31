# our aggregates, of lists of samples and of numbers: sums are exact and do not depend on the order of rows
trace=fixtures/traces/step-fp32.wtrace
ask() { # a line a query: its result, or what is wrong with it
	warpsheet query $trace "$1" --format csv 2>&1 | sed '/^warpsheet: try/d' | tr -d '\r' | tail -n +"${2:-2}" | tr '\n' ' '
	echo
}
ask "SELECT count_of(times) = sum(instances), sum_of(times) = sum(total_ns), min_of(times), median_of(times), max_of(times), mean_of(times),
	deviation_of(times) FROM cell WHERE name LIKE '%softmax_row_bwd%'"
ask "SELECT count_of(times), median_of(times) IS NULL FROM cell WHERE 0"
ask "SELECT median_of(total_ns + 7) FROM cell" 1
ask "SELECT median_of('x')" 1
ask "SELECT median(column1), deviation(column1) FROM (VALUES (1), (2), (9))"
ask "SELECT median(column1) FROM (VALUES (2), (1), (1.5), (4))"
ask "SELECT deviation(column1) FROM (VALUES (1.5), (NULL), (2.5))"
ask "SELECT sum_in_order(column1, column2) FROM (VALUES (0, 1e16), (1, 1.0), (2, 1.0))"
ask "SELECT sum_in_order(column1, column2) FROM (VALUES (2, 1e16), (1, 1.0), (0, 1.0))"
ask "SELECT sum_in_order(p, x) FROM (SELECT column1 AS p, column2 AS x FROM (VALUES (2, 1e16), (1, 1.0), (0, 1.0)) ORDER BY p DESC)"
ask "SELECT weighted_mean(column1, column2) FROM (VALUES (0.1, 3), (0.7, 1))"
ask "SELECT weighted_mean(column1, column2) FROM (VALUES (0.7, 1), (0.1, 1), (0.1, 1), (0.1, 1), (NULL, 5))"
# texts in the order of their first place
ask "SELECT in_order(column1, column2), in_order(-column1, column2), in_order(column1, column2, ' | '), in_order(column1, NULL) IS NULL
	FROM (VALUES (0, 'pear'), (1, 'apple'), (2, 'apple'), (3, 'melon'))"
ask "SELECT percent(1, 4), percent(1, 0) IS NULL, per(6, 3), typeof(per(6, 3)), per(7, 2), per(7, 0) IS NULL"
# a row is found by its rowid
ask "SELECT count(*) = 1 FROM cell WHERE rowid = 3"
ask "SELECT count(*) FROM cell WHERE rowid = 1000000 OR rowid = -1 OR rowid = 'x'"
ask "SELECT count(*) = (SELECT count(*) - 1 FROM cell) FROM cell AS a JOIN cell AS b ON b.rowid = a.rowid + 1"
# no text in double quotes, no second statement
ask 'SELECT "kin" FROM cell' 1
ask "SELECT name FROM cell LIMIT 0; " 1
ask "SELECT 1; SELECT 2" 1
