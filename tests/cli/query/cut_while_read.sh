# the trace is cut while the command, which has opened it, waits for the query
warpsheet import fixtures/imports/bert-small-h100.json.gz -o t.wtrace >words.txt
mkfifo asked
{
	warpsheet query t.wtrace --sql asked
	echo $?
} &
exec 3>asked
: >t.wtrace
echo 'SELECT count(*) FROM kernel_record' >&3
exec 3>&-
wait
