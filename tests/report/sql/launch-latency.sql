SELECT c.thread >> 24 & 0xffffff AS pid, c.thread & 0xffffff AS tid, k.device, count(*) AS count,
       count(nullif(k.start >= c.end, 0)) AS queued,
       avg(max(k.end, c.end) - c.start) AS total_avg_ns, median(max(k.end, c.end) - c.start) AS total_med_ns,
       min(max(k.end, c.end) - c.start) AS total_min_ns, max(max(k.end, c.end) - c.start) AS total_max_ns,
       deviation(max(k.end, c.end) - c.start) AS total_std_ns,
       avg(c.end - c.start) AS api_avg_ns, median(c.end - c.start) AS api_med_ns, min(c.end - c.start) AS api_min_ns,
       max(c.end - c.start) AS api_max_ns, deviation(c.end - c.start) AS api_std_ns,
       avg(iif(k.start >= c.end, k.start - c.end, NULL)) AS queue_avg_ns, median(iif(k.start >= c.end, k.start - c.end, NULL)) AS queue_med_ns,
       avg(k.dur) AS kernel_avg_ns, median(k.dur) AS kernel_med_ns, min(k.dur) AS kernel_min_ns, max(k.dur) AS kernel_max_ns,
       deviation(k.dur) AS kernel_std_ns, c.name AS api_name, k.name
FROM kernel k JOIN call c ON c.id = k.call
-- work that begins before its launch: the device's clock is off
WHERE NOT EXISTS (SELECT 1 FROM work w JOIN call l ON l.id = w.call WHERE w.start < l.start - 1000)
GROUP BY c.thread, k.device, c.name, k.name
ORDER BY total_avg_ns DESC, k.name, api_name, c.thread, k.device;
