for format in sqlite json perfetto; do
	warpsheet export fixtures/traces/step-bf16.wtrace --format $format -o a && warpsheet export fixtures/traces/step-bf16.wtrace --format $format -o b &&
		cmp a b && echo $format
done
ls
