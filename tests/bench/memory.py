#!/usr/bin/env python3
"""What reads a trace as a stream has a bound on its memory, whatever the trace's length.

memory.py BUILD: each command, by its peak of resident memory: on a model trace of 400,000 launches, and on traces
that are small as files and large in what they hold (tests/fixtures/make_many.c).
"""
import os
import subprocess
import sys
import tempfile

LAUNCHES = 400000
# most MB; loading all rows would take 90 and more, slices of a timeline 170
BOUNDS = [
    (64, ["report", "--scope", "all", "--table", "kernel-summary", "--format", "csv"]),
    (64, ["report", "--scope", "all", "--table", "ranges", "--format", "csv"]),
    (64, ["report", "--scope", "all", "--table", "kernel-trace", "--format", "csv"]),
    (64, ["report", "--scope", "all", "--table", "softmax-matmul", "--format", "csv"]),
    (80, ["export", "-o", "t.parquet"]),
    (64, ["export", "-o", "t.perfetto-trace"]),
    (64, ["export", "-o", "t.sqlite"]),
    (80, ["import", "t.sqlite", "-o", "u.wtrace"]),
    (64, ["export", "-o", "t.json.gz"]),
    (64, ["query", "SELECT count(*), sum(dur_ns) FROM kernel_record"]),
    (64, ["export", "--rollup", "-o", "sums.parquet"]),
    (64, ["sweep"]),
    (64, ["diff", "t.wtrace"]),
]
# most MB, what make_many makes and how many, the command: memory follows what differs
MANY = [
    (32, "kernels", 4000000, ["report", "--scope", "all", "--table", "kernel-summary", "--format", "csv"]),
    (96, "steps", 10000, ["diff", "steps-10000.wtrace"]),
    (96, "steps", 10000, ["diff", "steps-10000.wtrace", "-o", "d.xlsx"]),
    (96, "steps", 10000, ["gate", "--baseline", "b", "--workload", "w", "--update"]),
    (96, "steps", 10000, ["gate", "--baseline", "b", "--workload", "w"]),
    (32, "jittered", 4000000, ["report", "--scope", "all", "--table", "kernel-summary", "--format", "csv"]),
]


def peak_mb(command):
    """Runs it, its output to nowhere; its peak of resident memory."""
    with open(os.devnull, "w") as nowhere:
        child = subprocess.Popen(command, stdout=nowhere)
        _, status, usage = os.wait4(child.pid, 0)
    if status:
        sys.exit("failed: %s" % " ".join(command))
    return usage.ru_maxrss / 1024


def main():
    build = os.path.abspath(sys.argv[1])
    worse = 0
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        subprocess.run([build + "/tests/bench_trace", str(LAUNCHES), "t.wtrace"], check=True,
                       stdout=subprocess.DEVNULL)
        for bound, (command, *options) in BOUNDS:
            of = [] if command == "import" else ["t.wtrace"]
            peak = peak_mb([build + "/bin/warpsheet", command] + of + options)
            print("%3.0f MB of %d: %s" % (peak, bound, " ".join([command] + options)))
            worse += peak > bound
        for bound, what, n, (command, *options) in MANY:
            trace = "%s-%d.wtrace" % (what, n)
            if not os.path.exists(trace):
                subprocess.run([build + "/tests/make_many", what, str(n), trace], check=True)
            peak = peak_mb([build + "/bin/warpsheet", command, trace] + options)
            print("%3.0f MB of %d: %d %s, %s" % (peak, bound, n, what, " ".join([command] + options)))
            worse += peak > bound
    return worse > 0


if __name__ == "__main__":
    sys.exit(main())
