SELECT 100.0 * sum(dur) / (SELECT sum(dur) FROM kernel) AS time_percent, sum(dur) AS total_ns, count(*) AS instances,
       avg(dur) AS avg_ns, median(dur) AS med_ns, min(dur) AS min_ns, max(dur) AS max_ns, deviation(dur) AS std_ns,
       name, in_order(id, coalesce(range_class, name_class)) AS op_class, in_order(id, direction) AS direction,
       in_order(id, dtype) AS dtype, tensor, name_class AS class_by_name, in_order(id, range_class) AS class_by_range,
       nullif(max(registers), 0) AS registers
FROM kernel GROUP BY name ORDER BY total_ns DESC, instances, name;
