#!/usr/bin/env python3
"""Kernels by name: names.py COUNTED TABLE prints the first of COUNTED (lines "COUNT NAME") of which TABLE,
kernel-summary as CSV, has fewer; nothing when there is none. TABLE may have more: what ran before."""
import csv
import re
import sys


def plain(name):
    """As both write it: a profiler leaves out what a demangler adds."""
    return re.sub(r"\s+|^void|\[clone.*\]", "", name)


with open(sys.argv[2], newline="") as rows:
    recorded = {}
    for row in csv.DictReader(rows):
        name = plain(row["Name"])
        recorded[name] = recorded.get(name, 0) + int(row["Instances"])
with open(sys.argv[1]) as lines:
    for line in lines:
        count, name = line.rstrip("\n").split(" ", 1)
        if recorded.get(plain(name), 0) < int(count):
            print("%s: %s of %s" % (name[:60], recorded.get(plain(name), 0), count))
            break
