SELECT number AS step, iif(is_warm_up, 'yes', 'no') AS warm_up, count(k.id) AS kernels, coalesce(sum(k.dur), 0) AS gpu_ns,
       s.end - s.start AS host_ns
FROM step s LEFT JOIN every_kernel k ON k.step = s.id WHERE NOT is_open OR s.id IN (SELECT step FROM apart) GROUP BY s.id ORDER BY s.start, s.id;
