# a folder stands for every file that is a trace or can be imported, by content; a trace stands for
# the file of its name; what no import reads is passed over, and what nsys can export is named
mkdir runs
cp fixtures/imports/bert-small-h100.json.gz runs/bert.json.gz
cp fixtures/imports/alexnet-a100.json.gz runs/alexnet.pt.trace.json.gz
warpsheet export runs/alexnet.pt.trace.json.gz -o runs/another.sqlite 2>words.txt
warpsheet import runs/bert.json.gz -o runs/bert.wtrace >words.txt
printf '{"a": 1}' >runs/metadata.json
printf 'x' >runs/run.nsys-rep
printf 'x' >runs/.hidden.json
warpsheet sweep runs --table sweep --format csv 2>words.txt | cut -d, -f1-3
grep -c '^warpsheet: reading' words.txt
grep 'nsys-rep' words.txt
mkdir none
printf '{"a": 1}' >none/metadata.json
warpsheet sweep none
echo "exit $?"
