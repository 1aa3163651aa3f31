# a folder, and what an earlier export left in it
for format in a b; do
	warpsheet export fixtures/traces/step-bf16.wtrace --format csv -o $format || exit
done
diff -r a b && echo same
warpsheet export fixtures/imports/event-sync-a100.json.gz -o t.csv/ 2>/dev/null
echo mine >t.csv/notes.txt
warpsheet export fixtures/traces/step-bf16.wtrace -o t.csv/
diff -r a t.csv
head -qn 2 a/thread.csv a/nvtx.csv a/kernel.csv | tr -d '\r'
# a file where the folder should be; a folder that cannot be made
touch f.csv
warpsheet export fixtures/traces/step-bf16.wtrace -o f.csv; echo $?
warpsheet export fixtures/traces/step-bf16.wtrace -o no/such.csv; echo $?
ls -a t.csv | grep -c '^\.[a-z]'
