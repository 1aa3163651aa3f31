-- each kernel in its innermost path; before the kernels of a path a row for the path alone, also if only paths inside it have kernels
WITH named AS (SELECT k.*, coalesce(k.key, iif(k.call IS NULL, -2, -1)) AS path_key FROM kernel k),
line (path_key, id, dur, name) AS (
	SELECT path_key, id, dur, name FROM named
	UNION ALL SELECT DISTINCT l.key, NULL, NULL, NULL FROM kernel k JOIN held ON work = k.id JOIN label l ON l.range = held.range
	UNION ALL SELECT DISTINCT path_key, NULL, NULL, NULL FROM named WHERE path_key IN (-1, -2))
SELECT coalesce(p.path, iif(n.path_key = -2, '(no launch record)', '(in no range)')) AS path, nullif(p.domain, '') AS domain, p.style,
       iif(p.key IS NULL, NULL, (SELECT count(*) FROM chosen_range c JOIN label l ON l.range = c.id WHERE l.key = p.key)) AS instances,
       iif(n.name IS NULL, NULL, count(*)) AS kernels,
       sum(dur) AS total_ns, avg(dur) AS avg_ns, median(dur) AS med_ns, min(dur) AS min_ns, max(dur) AS max_ns,
       deviation(dur) AS std_ns, n.name
FROM line n LEFT JOIN path p ON p.key = n.path_key
GROUP BY n.path_key, n.name
ORDER BY p.key IS NULL, place, n.path_key = -2, n.name IS NOT NULL, total_ns DESC, kernels, n.name;
