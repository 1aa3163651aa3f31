-- only where phases are ranges
WITH measured AS (
	SELECT s.id, s.end - s.start AS host_ns, w.end - w.start AS total_ns FROM step s LEFT JOIN window w ON w.step = s.id
	WHERE NOT s.is_open AND NOT s.is_warm_up
), each AS (
	SELECT 0 AS sort, p.place, p.phase, 'wall' AS measure, p.ns FROM measured m JOIN phase_window p ON p.step = m.id
	UNION ALL SELECT 0, 6, 'total', 'wall', total_ns FROM measured WHERE total_ns NOTNULL
	UNION ALL SELECT 1, p.place, p.phase, 'GPU', p.gpu_ns FROM measured m JOIN phase_of_step p ON p.step = m.id WHERE p.gpu_ns
	UNION ALL SELECT 1, p.place, p.phase, 'GPU', 0 FROM measured m JOIN phase_of_step p ON p.step = m.id
		WHERE NOT coalesce(p.gpu_ns, 0) AND p.host_ns NOTNULL
	UNION ALL SELECT 1, 6, 'total', 'GPU', coalesce((SELECT sum(gpu_ns) FROM phase_of_step p WHERE p.step = m.id), 0) FROM measured m
	UNION ALL SELECT 2, p.place, p.phase, 'host', p.host_ns FROM measured m JOIN phase_of_step p ON p.step = m.id WHERE p.host_ns NOTNULL
	UNION ALL SELECT 2, 5, 'host', 'host', host_ns FROM measured WHERE EXISTS (SELECT 1 FROM measured WHERE host_ns IS NOT total_ns))
SELECT phase, measure, count(*) AS steps, avg(ns) AS mean_ns, iif(count(*) > 1, deviation(ns), NULL) AS std_ns,
       median(ns) AS med_ns, min(ns) AS min_ns, max(ns) AS max_ns
FROM each
WHERE place > 4 OR (place = 4 AND (SELECT yes FROM has_phases)) OR EXISTS (
	SELECT 1 FROM measured m JOIN phase_of_step p ON p.step = m.id AND p.place = each.place AND p.place < 4 AND p.host_ns NOTNULL)
GROUP BY sort, place ORDER BY sort, place;
