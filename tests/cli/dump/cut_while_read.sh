# the trace is cut while its dump stands in a full pipe: there is far more of it to come
warpsheet import fixtures/imports/bert-small-h100.json.gz -o t.wtrace >words.txt
{
	warpsheet dump t.wtrace
	echo $? >code
} | {
	read -r first
	: >t.wtrace
	cat >rest
}
cat code
