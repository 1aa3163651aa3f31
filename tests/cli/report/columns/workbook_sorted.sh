# rows of the summary in another order stand under the headings of their sections
for f in json xlsx; do
	warpsheet report fixtures/traces/step-fp32.wtrace --table summary --sort time_ns -o book.$f
done
python3 - <<'P'
import itertools, json, re, zipfile

table = json.load(open("book.json"))
ids = [c["id"] for c in table["columns"]]
above = {"GPU time by class", "Top kernels", "Why the device is idle", "What to do"}
rows = [(r[ids.index("section")], r[ids.index("item")]) for r in table["rows"]]
expected = []
for section, of in itertools.groupby(rows, lambda r: r[0]):
    if section not in above:
        expected += [section] + [item for _, item in of]

book = zipfile.ZipFile("book.xlsx")
strings = [re.sub("<[^>]*>", "", s) for s in re.findall("<si>(.*?)</si>", book.read("xl/sharedStrings.xml").decode(), re.S)]
first = book.read("xl/worksheets/sheet1.xml").decode()
shown = [strings[int(n)] for n in re.findall(r'<c r="A\d+"[^>]* t="s"><v>(\d+)</v>', first)]
found = [i for i in range(len(shown)) if shown[i:i + len(expected)] == expected]
print(len(found), len(expected) > 40, sum(expected[i] == "How long a step takes" for i in range(len(expected))) > 1)
P
