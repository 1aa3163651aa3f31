-- by_name: 0 the kernels of the class, 1 those whose name alone gives it
WITH each AS (
	SELECT coalesce(range_class, name_class) AS class, 0 AS by_name, dur, tensor FROM kernel
	UNION ALL SELECT name_class, 1, dur, tensor FROM kernel
	UNION ALL SELECT NULL, NULL, 0, NULL FROM every_kernel)
SELECT coalesce(class, '(unclassified)') AS class, count(nullif(by_name = 0, 0)) AS kernels,
       sum(iif(by_name = 0, dur, 0)) AS gpu_ns,
       100.0 * sum(iif(by_name = 0, dur, 0)) / (SELECT sum(dur) FROM kernel) AS share,
       sum(iif(by_name = 0 AND tensor = 'yes', dur, 0)) AS tensor_ns,
       count(nullif(by_name = 1, 0)) AS by_name_kernels, sum(iif(by_name = 1, dur, 0)) AS by_name_ns
FROM each GROUP BY each.class ORDER BY each.class IS NULL, gpu_ns DESC, class;
