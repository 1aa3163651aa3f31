# operations keep their inputs as PyTorch writes them: an import of the timeline computes the same costs
trace=fixtures/imports/bert-small-h100.json.gz
warpsheet export $trace -o t.json 2>words.txt
grep -o '"Input Dims": \[\[512\],\[141,512\],\[512,512\],\[\],\[\]\]' t.json | sort -u
for table in kernel-summary roofline softmax-matmul classes api-summary execution gpu memory-time; do
	warpsheet report $trace --table $table --format csv >want.csv 2>>words.txt
	warpsheet report t.json --table $table --format csv >got.csv 2>>words.txt
	cmp want.csv got.csv && echo "$table is the same"
done
# an annotation that crosses a Python function is on a row of its own there: another thread, other shares of CPU time
for file in $trace t.json; do
	warpsheet report $file --table ops --format csv 2>>words.txt | grep '^aten::' | cut -d, -f1,2,5,6,7 | sort >${file##*/}.ops
done
cmp ${trace##*/}.ops t.json.ops && wc -l <t.json.ops
