# a column of gains has a head where some advice has a gain
for trace in traces/step-fp32 recorded/aa/mlp-r1; do
	warpsheet report fixtures/$trace.wtrace -o book.xlsx
	python3 -c 'import zipfile; print(">Gain (%)<" in zipfile.ZipFile("book.xlsx").read("xl/sharedStrings.xml").decode())'
done
