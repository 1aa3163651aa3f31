#!/usr/bin/env python3
"""`warpsheet check` reads what a flight recorder has not finished, and at one of the system calls of check the recorder drops
the oldest pieces: dropped pieces are no damage. The file before and after the drop is that of a recorder that was stopped
there. Usage: flight_check.py WARPSHEET_RECORD WARPSHEET FAKE_CUDA

Exit status 77: this system allows no ptrace.
"""
import collections
import glob
import os
import re
import subprocess
import sys
import tempfile

import traced

record, warpsheet, fake_cuda = sys.argv[1:]
STEPS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "steps.py")
HEADER, STRIDE = 64, 5  # bytes; every fifth call is tried
verdicts = collections.Counter()
with tempfile.TemporaryDirectory() as folder:
    os.mkdir(f"{folder}/segments", 0o700)
    before, after, waits = b"", b"", 0  # of the unfinished trace: as the oldest pieces are dropped

    def watch(n, number):
        """The header changes first; some calls later, if there is more to drop than a part of a page, room is freed."""
        global before, after, waits
        for part in glob.glob(f"{folder}/t.wtrace.*.part"):
            with open(part, "rb") as f:
                now = f.read()
            waits = waits + 1 if now[:HEADER] != before[:HEADER] else 0
            if waits and now[:len(before)].count(0) > before.count(0) + 4096:
                after = now[:len(before)]
            elif waits in (0, 10):
                before, waits = now, 0
        return after

    environment = dict(os.environ, LD_LIBRARY_PATH=fake_cuda, WARPSHEET_SEGMENT_DIR=f"{folder}/segments",
                       WARPSHEET_CUPTI_PATH=f"{fake_cuda}/libcupti-fake.so")
    try:
        traced.run([record, "--keep", "0.1", "--flush-interval", "5", "-o", f"{folder}/t.wtrace", "--", sys.executable, STEPS,
                    "launches:1000", "100:4"], watch, env=environment, stderr=subprocess.DEVNULL)
    except subprocess.SubprocessError:
        print("SKIP: ptrace is not allowed here")
        sys.exit(77)
    print(f"{len(before)} bytes, of which {sum(a != b for a, b in zip(before, after))} differ after the drop")
    live, calls, at = f"{folder}/live.part", STRIDE, 0
    while at + STRIDE <= calls:
        at += STRIDE
        calls = 0

        def drop(n, number):
            global calls
            calls = n
            if n == at:
                with open(live, "r+b") as f:
                    f.write(after)

        with open(live, "wb") as f:
            f.write(before)
        with open(f"{folder}/said", "w+") as said:
            status = traced.run([warpsheet, "check", live], drop, stdout=said, stderr=said)
            said.seek(0)
            words = said.read()
        verdict = ("whole" if not status and "not closed; whole" in words and "damage" not in words else
                   "read it again" if status == 3 and "dropped a part" in words and "damage" not in words else "wrong")
        verdicts[verdict] += 1
        if verdict == "wrong":
            print(f"dropped at call {at}: status {status}, {words}")
print(f"dropped at each {STRIDE}th of {calls} calls: {dict(verdicts)}")
sys.exit(verdicts["wrong"] > 0 or after == before)
