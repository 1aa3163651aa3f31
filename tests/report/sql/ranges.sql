-- once: each kernel once a path that holds it; what lies in no range has rows of its own
WITH outside (key, path, place) AS (VALUES ('no range', '(in no range)', 1), ('no launch', '(no launch record)', 2)),
own_path AS (SELECT k.*, coalesce(k.key, iif(call IS NULL, 'no launch', 'no range')) AS path_key FROM kernel k),
once AS (
	SELECT l.key, k.id, k.start, k.end, k.dur, k.device FROM kernel k JOIN held ON work = k.id JOIN label l ON l.range = held.range
	UNION SELECT path_key, id, start, end, dur, device FROM own_path),
inclusive AS (SELECT key, sum(dur) AS ns, count(*) AS n FROM once GROUP BY key),
occupied AS (SELECT key, sum(ns) AS ns FROM (SELECT key, busy(start, end) AS ns FROM once GROUP BY key, device) GROUP BY key),
own AS (SELECT path_key AS key, sum(dur) AS ns, count(*) AS n FROM own_path GROUP BY path_key),
projected AS (SELECT key, sum(ns) AS ns FROM (
	SELECT l.key, max(k.end) - min(k.start) AS ns FROM kernel k JOIN held ON work = k.id
	JOIN chosen_range r ON r.id = held.range JOIN label l ON l.range = r.id GROUP BY r.id) GROUP BY key),
every AS (
	SELECT 0 AS sort, key, path, nullif(domain, '') AS domain, style, place FROM path
	UNION ALL SELECT 1, key, path, NULL, NULL, place FROM outside),
device AS (SELECT iif(count(*), 0, NULL) AS zero FROM work),
instance AS (SELECT key, count(*) AS n, sum(dur) AS ns, avg(dur) AS avg, median(dur) AS median, deviation(dur) AS std, sum(is_open) AS open
	FROM chosen_range r JOIN label l ON l.range = r.id GROUP BY key)
SELECT p.path, p.domain, p.style, iif(sort, NULL, coalesce(i.n, 0)) AS instances, iif(sort, NULL, coalesce(i.ns, 0)) AS range_ns,
       iif(sort, NULL, coalesce(j.ns, zero)) AS projected_ns, coalesce(b.ns, zero) AS busy_ns, coalesce(c.ns, zero) AS inclusive_ns,
       coalesce(o.ns, zero) AS exclusive_ns, coalesce(c.n, zero) AS ops_inclusive, coalesce(o.n, zero) AS ops_exclusive,
       i.avg AS avg_ns, i.median AS med_ns, i.std AS std_ns, iif(sort, NULL, coalesce(open, 0)) AS open
FROM every p JOIN device LEFT JOIN instance i USING (key) LEFT JOIN projected j USING (key) LEFT JOIN occupied b USING (key)
LEFT JOIN inclusive c USING (key) LEFT JOIN own o USING (key)
WHERE i.n OR o.n OR sort ORDER BY sort, place;
