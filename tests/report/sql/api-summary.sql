SELECT 100.0 * sum(dur) / (SELECT sum(dur) FROM chosen_call) AS time_percent, sum(dur) AS total_ns, count(*) AS calls,
       avg(dur) AS avg_ns, median(dur) AS med_ns, min(dur) AS min_ns, max(dur) AS max_ns, deviation(dur) AS std_ns,
       iif(name LIKE '%\_v____' ESCAPE '\', substr(name, 1, length(name) - 6), name) AS name,
       count(nullif(result, 0)) AS failed, name AS recorded_name
FROM chosen_call GROUP BY chosen_call.name ORDER BY total_ns DESC, calls, recorded_name;
