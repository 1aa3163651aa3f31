# a sheet ends at 100,000 rows: all of a longer table are in a CSV beside the workbook
awk 'BEGIN {
	print "{\"traceEvents\":[{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,\"ts\":0,\"dur\":1,\"args\":{\"device\":0,\"stream\":7,\"correlation\":1}}"
	for (i = 0; i < 100001; i++)
		printf ",{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"item %c%c%c%c\",\"pid\":1,\"tid\":1,\"ts\":%d,\"dur\":1}\n", \
			97 + int(i / 17576) % 26, 97 + int(i / 676) % 26, 97 + int(i / 26) % 26, 97 + i % 26, i * 2
	print "]}"
}' >t.json
warpsheet import t.json -o t.wtrace >words.txt 2>&1
warpsheet report t.wtrace --table ranges -o book.xlsx 2>&1 | sed 's/[0-9.]* s$/N s/'
ls book*
wc -l <book-ranges.csv
python3 - <<'P'
import re, zipfile

book = zipfile.ZipFile("book.xlsx")
sheets = [book.read(n).decode() for n in book.namelist() if n.startswith("xl/worksheets/sheet")]
print(max(len(re.findall("<row ", s)) for s in sheets) < 100020)
P
