SELECT coalesce(k.path, iif(k.call IS NULL, '(no launch record)', '(in no range)')) AS path, nullif(p.domain, '') AS domain, p.style,
       iif(p.key IS NULL, NULL, (SELECT count(*) FROM chosen_range c JOIN label l ON l.range = c.id WHERE l.key = p.key)) AS instances,
       count(*) AS kernels,
       sum(dur) AS total_ns, avg(dur) AS avg_ns, median(dur) AS med_ns, min(dur) AS min_ns, max(dur) AS max_ns,
       deviation(dur) AS std_ns, k.name
FROM kernel k LEFT JOIN path p ON p.key = k.key
GROUP BY k.key, k.key IS NULL AND k.call IS NULL, k.name
ORDER BY k.key IS NULL, place, k.key IS NULL AND k.call IS NULL, total_ns DESC, kernels, k.name;
