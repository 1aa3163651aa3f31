# queries of a file as tables of their own, in the order of the file, beside those of the report
trace=fixtures/recorded/h100/resnet50.wtrace
cat >mine.sql <<'END'
-- GPU time by dtype
-- One row per dtype of the kernels.
SELECT dtype, sum(total_ns) AS "GPU Time (ns)", percent(sum(total_ns), :gpu_ns) AS share_percent
FROM cell GROUP BY dtype ORDER BY 2 DESC;

-- Kernels
SELECT name AS "Kernel", 1 AS mixed FROM kernel_summary WHERE instances < 4
UNION ALL SELECT 'all', 'many' ORDER BY 1 LIMIT 3; -- the end
END
warpsheet query "$trace" --sql mine.sql
warpsheet query "$trace" --sql - --format json <mine.sql | grep '"\(columns\|id\|table\|title\|what\)"'
warpsheet report "$trace" --sql mine.sql -o report.json
grep -o '"gpu-time-by-dtype": {\|"kernels": {\|"kernel-summary": {' report.json
warpsheet report "$trace" --sql mine.sql -o report.xlsx && echo workbook
# no two tables have one name
printf '%s\n' '-- Steps' 'SELECT 1;' '-- Steps' 'SELECT 2' >same.sql
warpsheet report "$trace" --sql same.sql -o same.json
grep -o '"steps[^"]*": {' same.json
warpsheet report "$trace" --sql same.sql -o same.xlsx && echo workbook
