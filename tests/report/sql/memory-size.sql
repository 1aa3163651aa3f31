SELECT sum(bytes) / 1e6 AS total_mb, count(*) AS count, avg(bytes) / 1e6 AS avg_mb, median(bytes) / 1e6 AS med_mb,
       min(bytes) / 1e6 AS min_mb, max(bytes) / 1e6 AS max_mb, deviation(bytes) / 1e6 AS std_mb, operation,
       sum(bytes) AS total_bytes, sum(dur) AS total_ns
FROM copy GROUP BY operation ORDER BY total_bytes DESC, count, operation;
