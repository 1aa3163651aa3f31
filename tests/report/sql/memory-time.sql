SELECT 100.0 * sum(dur) / (SELECT sum(dur) FROM copy) AS time_percent, sum(dur) AS total_ns, count(*) AS count,
       avg(dur) AS avg_ns, median(dur) AS med_ns, min(dur) AS min_ns, max(dur) AS max_ns, deviation(dur) AS std_ns,
       operation, sum(nullif(bytes, 0)) AS bytes
FROM copy GROUP BY operation ORDER BY total_ns DESC, count, operation;
