"""Runs the queries of docs/reference/at-scale.md in Apache Spark, on a local cluster of three workers.

  spark.py PAGE FLEET            compares the answers with the tables that the page shows, in the folder FLEET
  spark.py PAGE FOLDER ANSWERS   on the files of many ranks in FOLDER; compares with DuckDB's (run_page.mjs --answers)

Prints the times of each query, and processor time and memory of the cluster's processes.
"""
import json
import os
import re
import sys
import time
from decimal import Decimal
from pathlib import Path

page = Path(sys.argv[1]).read_text().split("\n## Elsewhere")[0]
answers = json.loads(Path(sys.argv[3]).read_text()) if len(sys.argv) > 3 else None
os.chdir(sys.argv[2])  # before the JVM starts: its folder for relative paths

from pyspark.sql import SparkSession  # noqa: E402

spark = (SparkSession.builder.master("local-cluster[3,1,1024]").config("spark.ui.enabled", "false")
         .config("spark.sql.shuffle.partitions", "6")
         # many small files: by default each is a task of its own
         .config("spark.sql.files.openCostInBytes", "65536").getOrCreate())
spark.sparkContext.setLogLevel("OFF")


def text(value):
    """A value as the page shows it."""
    if value is None:
        return ""
    if isinstance(value, (float, Decimal)):
        return f"{value:.12g}" if value != int(value) else str(int(value))
    return str(value)


def cluster():
    """Processor time in s and peaks of resident memory in MB of the JVMs below this process, added."""
    parents, peaks, ticks = {}, {}, {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            fields = dict(line.split(":", 1) for line in (process / "status").read_text().splitlines())
            times = (process / "stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        pid = int(fields["Pid"])
        parents[pid] = int(fields["PPid"])
        peaks[pid] = int(fields.get("VmHWM", "0 kB").split()[0])
        ticks[pid] = int(times[11]) + int(times[12])

    def below(pid):
        return pid == os.getpid() or (pid in parents and below(parents[pid]))
    jvms = [pid for pid in peaks if pid != os.getpid() and below(pid)]
    return sum(ticks[pid] for pid in jvms) / os.sysconf("SC_CLK_TCK"), sum(peaks[pid] for pid in jvms) // 1024


for name in ("kernels", "nvtx", "facts", "rollup", "rollup_histogram") if answers else ():
    view = {"rollup_histogram": "histogram"}.get(name, name)
    for suffix in ("", "_of_all"):
        spark.sql(f"CREATE TEMPORARY VIEW {view}{suffix} USING parquet OPTIONS (path '{name}.parquet')")

queries = wrong = 0
for block, shown in re.findall(r"```sql(?: spark)?\n(.*?)```\n(\n\|.*?(?=\n(?:[^|]|$)))?", page, re.S):
    for statement in filter(str.strip, re.split(r";\s*(?:\n|$)", block)):
        if statement.lstrip().startswith("CREATE"):
            if answers is None or "dtype_of_rank" in statement:
                spark.sql(statement)
            continue
        began, used = time.monotonic(), cluster()[0]
        result = spark.sql(statement)
        rows = [[text(value) for value in row] for row in result.collect()]
        print(f"{time.monotonic() - began:.2f} s, {cluster()[0] - used:.2f} s of processor time: {statement.splitlines()[0]}")
        if answers is None:
            lines = shown.strip().splitlines()
            expected = [line.strip("|").split(" | ") for line in lines]
            expected = [[cell.strip() for cell in cells] for cells in expected[:1] + expected[2:]]
        else:
            expected = [answers[queries]["columns"]] + [
                [text(cell) for cell in row] for row in answers[queries]["rows"]]
        queries += 1
        if not rows or [result.columns] + rows != expected:
            wrong += 1
            print("WRONG: DuckDB gives", *expected, "but Spark", result.columns, *rows, sep="\n")
seconds, megabytes = cluster()
print(f"{queries} queries, {wrong} differ; {spark.sparkContext.master}: {seconds:.1f} s of processor time, "
      f"{megabytes} MB of memory")
sys.stdout.flush()
os._exit(1 if wrong or queries < 8 else 0)  # stopping the cluster takes seconds, and prints traces of its workers
