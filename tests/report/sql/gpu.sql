WITH each AS (
	SELECT device, start, end, sort = 'kernel' AS is_kernel, sort = 'graph' AS is_graph,
	       sort = 'kernel' AND (SELECT coalesce(range_class, name_class) FROM every_kernel k WHERE k.id = c.id) IS NOT 'comm' AS computes
	FROM chosen_work c)
SELECT CAST(device AS TEXT) AS device, sum(is_kernel) AS kernels, coalesce(sum(iif(is_kernel, end - start, 0)), 0) AS kernel_ns,
       coalesce(busy(start, end) FILTER (WHERE computes), 0) AS computation_ns,
       coalesce(busy(start, end) FILTER (WHERE is_kernel OR is_graph), 0)
       - coalesce(busy(start, end) FILTER (WHERE computes OR is_graph), 0) AS comm_exposed_ns,
       busy(start, end) - coalesce(busy(start, end) FILTER (WHERE is_kernel OR is_graph), 0) AS copy_exposed_ns,
       busy(start, end) AS busy_ns, max(end) - min(start) - busy(start, end) AS idle_ns, max(end) - min(start) AS timeline_ns
FROM each GROUP BY device ORDER BY each.device;
