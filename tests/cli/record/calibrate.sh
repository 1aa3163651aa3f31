# Steps that are not recorded, of a program without a GPU: docs/dev/recorder.md, 10.
record() {
	warpsheet-record "$@" >/dev/null 2>err
	echo "exit $?"
	grep -e --calibrate err
}
record --calibrate=30 -o a.wtrace --model lenet5 --batch 1 --warmup 2 --steps 98
warpsheet query a.wtrace "SELECT calibration, count(*) AS steps FROM op_period_record GROUP BY 1 ORDER BY 1" --format csv
echo "ranges of steps, and of their parts:"
warpsheet query a.wtrace "SELECT name, count(*) AS pushes FROM nvtx_record WHERE type = 'push' AND name IN ('warm-up', 'step', 'forward', 'backward') GROUP BY 1 ORDER BY 1" --format csv
echo "kernels of each step:"
warpsheet query a.wtrace "SELECT kernels, count(*) AS steps FROM step WHERE warm_up = 'no' GROUP BY 1 ORDER BY 1" --format csv
record --calibrate -o few.wtrace --model lenet5 --batch 1 --warmup 2 --steps 18
warpsheet query few.wtrace "SELECT count(*) AS rows FROM op_period_record" --format csv
record --calibrate=31 -o bad.wtrace --model lenet5
record --calibrate --capture-range step -o bad.wtrace --model lenet5
