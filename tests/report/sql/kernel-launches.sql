SELECT 100.0 * sum(dur) / (SELECT sum(dur) FROM kernel) AS time_percent, sum(dur) AS total_ns, count(*) AS instances,
       avg(dur) AS avg_ns, median(dur) AS med_ns, min(dur) AS min_ns, max(dur) AS max_ns, deviation(dur) AS std_ns,
       iif(grid_x AND grid_y AND grid_z, printf('%4d %4d %4d', grid_x, grid_y, grid_z), NULL) AS grid,
       iif(block_x AND block_y AND block_z, printf('%4d %4d %4d', block_x, block_y, block_z), NULL) AS block,
       name, nullif(max(registers), 0) AS registers
FROM kernel GROUP BY name, grid_x, grid_y, grid_z, block_x, block_y, block_z
ORDER BY total_ns DESC, instances, name, grid_x, grid_y, grid_z, block_x, block_y, block_z;
