#!/usr/bin/env python3
"""Repeat a PyTorch profiler trace with shifted times, to measure the importer on large files.

    make_big_json.py TRACE.json[.gz] COPIES OUT.json[.gz]

Each copy of traceEvents follows the one before it in time; correlation ids, external ids, record
ids and flow ids are shifted too, so the copies stay distinct. All other text is unchanged, so the
bytes per event are those of the real file. Metadata events are written once.
"""
import gzip
import re
import sys


def main():
    source, copies, out = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    opener = gzip.open if source.endswith(".gz") else open
    with opener(source, "rt", encoding="utf-8", errors="surrogateescape") as f:
        text = f.read()
    begin = text.index('"traceEvents"')
    begin = text.index("[", begin) + 1
    end = text.rindex("]", 0, text.rindex("Record Window End") + 400)
    events = text[begin:end].rstrip()

    times = [int(t) for t in re.findall(r'"ts": (\d+)', events)]
    ids = [int(i) for i in re.findall(r'"(?:correlation|[Ee]xternal id|id)": (\d+)', events)]
    span = max(times) - min(times) + 1000
    id_span = max(ids) + 1

    def shifted(copy):
        text = re.sub(r'("ts": )(\d+)', lambda m: m[1] + str(int(m[2]) + copy * span), events)
        return re.sub(r'("(?:correlation|[Ee]xternal id|id)": )(\d+)',
                      lambda m: m[1] + str(int(m[2]) + copy * id_span), text)

    opener = gzip.open if out.endswith(".gz") else open
    with opener(out, "wt", encoding="utf-8", errors="surrogateescape") as f:
        f.write(text[:begin])
        for copy in range(copies):
            if copy:
                f.write(",")
            f.write(shifted(copy))
        f.write(text[end:])


main()
