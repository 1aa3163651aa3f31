# what cannot be imported is refused with the cure, and a pipe is not waited for
printf 'NSYS' >run.nsys-rep
cp fixtures/imports/bert-small-h100.json.gz bert.json.gz
warpsheet export bert.json.gz -o bert.sqlite 2>words.txt
gzip -n bert.sqlite
mkfifo pipe
for input in run.nsys-rep bert.sqlite.gz pipe; do
	timeout 300 warpsheet import $input -o t.wtrace
	echo "$input: exit $?"
done
rm pipe
ls
