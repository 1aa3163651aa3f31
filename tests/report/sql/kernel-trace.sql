SELECT k.start - first AS start_ns, k.dur AS dur_ns, device, stream, c.thread >> 24 & 0xffffff AS pid,
       c.thread & 0xffffff AS tid, s.number AS step, iif(is_warm_up, 'yes', iif(is_warm_up = 0, 'no', NULL)) AS warm_up,
       coalesce(path, iif(k.call IS NULL, '(no launch record)', '(in no range)')) AS path,
       coalesce(range_class, name_class) AS op_class, direction, dtype, tensor,
       nullif(grid_x, 0) AS grid_x, nullif(grid_y, 0) AS grid_y, nullif(grid_z, 0) AS grid_z,
       nullif(block_x, 0) AS block_x, nullif(block_y, 0) AS block_y, nullif(block_z, 0) AS block_z,
       nullif(registers, 0) AS registers, iif(grid_x, shared_bytes, NULL) AS shared_bytes,
       c.name AS api_name, c.start - first AS api_start_ns, c.end - c.start AS api_ns, k.name
FROM kernel k JOIN span LEFT JOIN call c ON c.id = k.call LEFT JOIN step s ON s.id = k.step
ORDER BY device, k.start, k.id;
