# numbers and texts as people read them, of tables made by queries; COLUMNS is the width of the terminal
show() { # show COLUMNS QUERY
	COLUMNS=$1 warpsheet query fixtures/traces/empty.wtrace "$2" 2>&1 | sed '1,/^Query$/d'
}
# a column of times has the unit in which its median has one to three digits, unless it is 0; few are never 0
for times in '1),(999),(999999' '1),(1234),(999999' '0),(31500),(123456' '4999),(12345678),(8000000000' \
	'1000000000000),(1000000000000),(1' '-4000),(0),(31500' '0),(0),(0),(6000000'; do
	show 80 "SELECT column1 AS total_ns, row_number() OVER () AS row FROM (VALUES ($times))"
done
show 80 'SELECT column1 AS "Share (%)", column2 AS "TFLOP/s", column3 AS "GB/s", column4 AS "B / A" FROM (VALUES
	(75.0, 0.0000123, 0.12, 0.0042), (0.04, 0.0000456, 456.7, 0.0012), (-0.04, 0.0, 345.6, 0.0), (0.0, NULL, NULL, NULL))'
# what is compared in a row has one unit, and so have a difference and its sides unless nothing of it would be seen
show 80 'SELECT 2000000 AS "Avg (ns)", 500 AS "Min (ns)", 900000000 AS "A (ns)", 2000000000 AS "B (ns)", 12.5 AS "Kernel (us)", 1 AS "Status"'
show 80 'SELECT 2000000 AS a_ns, 2800000 AS b_ns, 800000 AS diff_ns'
show 80 'SELECT 2000000 AS a_ns, 2000900 AS b_ns, 900 AS diff_ns'
show 80 'SELECT 2000000 AS gpu_a_ns, 2000900 AS gpu_b_ns, 900 AS diff_ns, 0 AS low_ns, 1500 AS avg_ns, 0 AS std_ns'
show 80 'SELECT 2000000 AS a_ns, -945 AS diff_ns'
# a moment has the unit of times that are not much less
show 80 'SELECT 240000000 AS start_ns, 900000 AS dur_ns'
show 80 'SELECT 900 AS start_ns, 240000000 AS dur_ns'
show 80 'SELECT 24800000000 AS start_ns, 218000 AS dur_ns'
show 80 'SELECT column1 AS "Share (%)", column2 AS total_ns, column3 AS avg_ns FROM (VALUES (0.125, -10000500, -2.5e7),
	(-0.125, -9223372036854775807 - 1, NULL), (-0.001, NULL, NULL))'
show 80 'SELECT 51539607552 AS flops, 16777216 AS "Size (bytes)", 1234567 AS instances, 1234567 AS id'
show 80 'SELECT -9223372036854775807 - 1 AS instances, 1.7e308 AS "Share (%)", 1e300 AS avg_ns'
# control characters, those that change the direction, and bytes that are no text
show 80 "SELECT column1 AS text, length(column1) AS n FROM (VALUES ('a' || char(10, 9, 13, 127, 27)), (char(133)), (char(8238) || 'evil'),
	(char(8294, 8232)), (CAST(x'fffe' AS TEXT)), (char(65535)), (CAST(x'e282' AS TEXT)), ('ä€'), (char(27979) || 'wide'),
	('a' || char(776)))"
# prose is wrapped and whole; lines are no wider than the terminal, and what is left out is counted
for width in 36 22; do
	show $width "SELECT 'overall' AS subject, 'B takes half as long as A, beyond noise, averylongwordindeedso' AS verdict, 7 AS a"
done
kernel="'void vectorized_elementwise_kernel<4, Functor<float> >(int)' AS name, 'vectorized_elementwise_kernel<MulFunctor<float>> [4, 3]' AS short_name"
for width in 140 60 40; do
	show $width "SELECT 1234567890123 AS total_ns, 1234567890123 AS first, 1234567890123 AS second, 1234567890123 AS third, $kernel"
done
# names that are cut stay different
show 60 "SELECT 'sm80_xmma_gemm_tilesize' || column1 || 'x8_stage3_aligna4_alignc4' AS short_name, 5 AS total_ns,
	'step/layer ' || column2 || '/attention/scores/softmax' AS path, 1 AS a, 2 AS b, 3 AS c FROM (VALUES ('64x256', 0), ('128x128', 1))"
