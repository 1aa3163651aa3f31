#!/usr/bin/env python3
"""The segment gives the room of a backlog back. The launcher is stopped while a program launches kernels, continued, and
the segment must fall back to about its size before; all kernels are in the trace. Then the same again, because what was
given back must be asked for again. Also: there is no room for the second backlog, so launches that find none are counted;
the stopped launcher is killed, and `--salvage` goes on; the program is killed while it gives room back.
The driver and CUPTI are those of ../cuda/fake.h. Usage: segment_backlog.py WARPSHEET_RECORD WARPSHEET FAKES
"""
import glob
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

record, warpsheet, fakes = sys.argv[1:]
PROGRAM = """
import ctypes, sys
cuda = ctypes.CDLL("libcuda.so.1")
cuda.cuInit(0)
for line in sys.stdin:
    for _ in range(int(line)):
        cuda.cuLaunchKernel(b"_Z4gemmPfS_i", ctypes.c_uint64(0), 1)
    print("launched", flush=True)
"""
LOT, BACKLOG = 5000, 100000  # launches; 3,500 fill a slot of 1 MiB, and a flush ends one
LITTLE, MUCH, ROOM = 20, 28, 60  # MiB: eight free slots, and some that are read or in use; with a backlog; all there is
problems = []


def check(is_right, what):
    if not is_right:
        problems.append(what)


def run(title, backlogs, launcher_dies=False, program_dies=False, **more):
    """Makes backlogs. Returns the segment's MiB before and with each, and at the end; the counts of rows and losses."""
    environment = dict(os.environ, LD_LIBRARY_PATH=fakes, WARPSHEET_CUPTI_PATH=f"{fakes}/libcupti-fake.so", **more)
    room = os.statvfs("/dev/shm") if os.access("/dev/shm", os.W_OK) else None
    in_memory = "/dev/shm" if room and room.f_bavail * room.f_frsize > 300 << 20 else None
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory(dir=in_memory) as segments:
        def size():
            return sum(os.stat(name).st_blocks * 512 for name in glob.glob(f"{segments}/*")) / 2 ** 20

        def wait_for_less_than(most):
            end = time.monotonic() + 300
            while size() > most:
                if time.monotonic() > end:
                    sys.exit(f"{title}: still {size():.1f} MiB")
                time.sleep(0.01)

        def launch(n):
            launcher.stdin.write(f"{n}\n")
            launcher.stdin.flush()
            if launcher.stdout.readline() != "launched\n":
                sys.exit(f"{title}: the program ended")

        launcher = subprocess.Popen(
            [record, "--segment-dir", segments, "--gpu-buffers", "1024", "--flush-interval", "100", "-o", f"{folder}/t.wtrace", "--", sys.executable,
             "-c", PROGRAM], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        launch(LOT)
        if size() > 100:
            print("SKIP: segments do not grow here, they have all their room from the start")
            sys.exit(77)
        sizes = []
        for backlog in backlogs:
            wait_for_less_than(LITTLE)
            sizes.append(size())
            launcher.send_signal(signal.SIGSTOP)
            launch(backlog)
            sizes.append(size())
            time.sleep(0.5)  # some flushes; that their own records find no room says nothing about other profilers
            if launcher_dies:
                launcher.kill()
                launcher.wait()
                salvage = subprocess.Popen([record, "--salvage", *glob.glob(f"{segments}/*")], stderr=subprocess.DEVNULL)
            launcher.send_signal(signal.SIGCONT)
            if not program_dies:
                wait_for_less_than(LITTLE)
        sizes.append(size())
        if not program_dies:
            launch(LOT)
            launcher.stdin.close()
        status = (salvage if launcher_dies else launcher).wait()
        check(status == (128 + signal.SIGKILL if program_dies else 0), f"{title}: ends with {status}")
        info = subprocess.run([warpsheet, "info", f"{folder}/t.wtrace"], check=True, capture_output=True, text=True).stdout
        print(f"{title}: " + ", ".join(f"{mib:.1f}" for mib in sizes) + " MiB")
        return sizes, {name: int(n.replace(",", "")) for name, n in re.findall(r"^ +(\w+) +([\d,]+)", info, re.M)}


sizes, counts = run("two backlogs", [BACKLOG, BACKLOG])
check(min(sizes[1], sizes[3]) > MUCH, "a backlog takes no memory")
check(counts["kernel"] == 2 * (LOT + BACKLOG), f"two backlogs: {counts}")

sizes, counts = run("no room for the second", [BACKLOG // 2, 3 * BACKLOG], LD_PRELOAD=f"{fakes}/libno_room.so",
                    NO_ROOM_AFTER=str(ROOM << 20))
check(sizes[3] < ROOM, "the room is not as planned")
check(counts["activity_refused"] > 0 and not counts["launch_not_told"] and counts["kernel"] > 2 * LOT + BACKLOG // 2 and
      counts["kernel"] + counts["activity_dropped"] >= 2 * LOT + 3.5 * BACKLOG, f"without room: {counts}")

_, counts = run("the launcher dies", [BACKLOG], launcher_dies=True)
check(counts["kernel"] == 2 * LOT + BACKLOG, f"the launcher dies: {counts}")
_, counts = run("the program dies", [BACKLOG], program_dies=True, LD_PRELOAD=f"{fakes}/libno_room.so", NO_ROOM_AFTER="kill")
check(counts["kernel"] == LOT + BACKLOG, f"the program dies: {counts}")
print("\n".join(problems))
sys.exit(bool(problems))
