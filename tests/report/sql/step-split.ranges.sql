-- only where phases are ranges
WITH measured AS (SELECT * FROM step WHERE NOT is_open AND NOT is_warm_up),
total AS (SELECT count(*) AS steps, max(end) - min(start) AS ns, sum(end - start) AS in_steps FROM measured),
of AS (SELECT place, sum(host_ns) AS ns FROM phase_of_step p JOIN measured m ON m.id = p.step GROUP BY place),
sums AS (SELECT
	(SELECT ns FROM of WHERE place = 0) AS forward, (SELECT ns FROM of WHERE place = 1) AS loss,
	(SELECT ns FROM of WHERE place = 2) AS backward, coalesce((SELECT ns FROM of WHERE place = 3), 0) AS optimizer,
	(SELECT ns FROM of WHERE place = 4) AS remainder),
split (place, part, ns) AS (
	SELECT 0, 'eval', forward FROM sums UNION ALL SELECT 1, 'loss', loss FROM sums
	UNION ALL SELECT 2, 'backprop', backward + optimizer FROM sums
	UNION ALL SELECT 3, 'remainder', remainder + iif(backward IS NULL, optimizer, 0) FROM sums
	UNION ALL SELECT 4, 'overhead', ns - in_steps FROM total)
SELECT part, split.ns AS time_ns, 100.0 * split.ns / total.ns AS share, 1.0 * split.ns / steps AS per_step_ns, steps
FROM split, total, has_phases WHERE steps AND yes ORDER BY place;
