# what an earlier version had gets a line that names the new way
for words in "record --merge a.wtrace b.wtrace -o c.wtrace" "check t.wtrace --repair u.wtrace"; do
	# shellcheck disable=SC2086
	warpsheet $words
	echo $?
done 2>&1
warpsheet-step --model mlp --data tokens.bin 2>&1
