#!/usr/bin/env python3
"""What the rows of a seed cost a CPU: cpu_time.py WARPSHEET_STEP ROWS SEED

Of each row of ROWS (rows.txt) whose first word is SEED: CPU time that a step takes an image or a
signal, on one thread, by the difference of two runs of other lengths; the median of three. CPU
time hardly tells how busy the machine is, as the time of a clock does.
"""
import resource
import statistics
import subprocess
import sys

SHORT, LONG = 1, 4


def cpu_s(command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def of_row(program, options, small):
    words = options.split() + ([] if small == "-" else small.split())
    command = [program] + words + ["--device", "cpu", "--threads", "1", "--steps"]
    batch = int(words[len(words) - 1 - words[::-1].index("--batch") + 1])
    taken = [cpu_s(command + [str(LONG)]) - cpu_s(command + [str(SHORT)]) for _ in range(3)]
    return statistics.median(taken) / (LONG - SHORT) / batch


def main():
    program, path, seed = sys.argv[1:4]
    print("| test | row | run here with | CPU ms |\n|---|---|---|---|")
    with open(path) as rows:
        for line in rows:
            if line.startswith(seed + " ") and not line.startswith("#"):
                cells = [cell.strip() for cell in line.split("|")]
                print("| %s | %s | `%s` | %.2f |" % (
                    cells[0], cells[1], cells[3], 1e3 * of_row(program, cells[2], cells[3])), flush=True)


main()
