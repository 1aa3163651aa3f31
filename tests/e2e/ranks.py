#!/usr/bin/env python3
"""A run of several ranks as PyTorch's profiler writes it, invented, with everything known that
`warpsheet report` is to find out; and whether it did.

  ranks.py make FOLDER RANKS STEPS [slow|even|silent|nosize|pairs|p2p|sends]   one JSON file a rank
  ranks.py check FOLDER RANKS STEPS SLOW_RANK     compare the tables in FOLDER with it
  ranks.py clocks FOLDER RANKS                    the clocks only
"""
import csv
import json
import os
import random
import sys

STEP_US, TRANSFER_US, ELEMENTS = 10000, 400, 4000000


def offset_us(rank):
    """By how much the rank's clock is ahead."""
    return (rank * 7919) % 5003 * 10.0 - 20000


def compute_us(rank, step, slow):
    late = 900 if rank == slow else 0
    return 5000 + (rank * 31 + step * 17) % 40 + late


class Rank:
    def __init__(self, rank, ranks, kind):
        self.rank, self.kind, self.correlation = rank, kind, 0
        self.ranks = ranks
        self.events = []

    def add(self, name, cat, begin, dur, tid, pid=None, **args):
        self.events.append({
            "ph": "X", "cat": cat, "name": name, "pid": 1000 + self.rank if pid is None else pid,
            "tid": tid, "ts": round(begin + offset_us(self.rank), 3), "dur": round(dur, 3), "args": args})

    def launch(self, kernel, at, begin, dur, stream, **args):
        self.correlation += 1
        self.add("cudaLaunchKernel", "cuda_runtime", at, 5, 1, correlation=self.correlation)
        self.add(kernel, "kernel", begin, dur, stream, pid=0, device=0, context=1, stream=stream,
                 correlation=self.correlation, grid=[1, 1, 1], block=[256, 1, 1], **args)

    def all_reduce(self, at, begin, end, number, group="0", members=None):
        args = {}
        if self.kind not in ("nosize", "p2p", "sends"):
            members = members or list(range(self.ranks))
            args = {"Collective name": "allreduce", "In msg nelems": ELEMENTS, "Out msg nelems": ELEMENTS,
                    "Group size": len(members), "dtype": "Float", "Process Group Name": group,
                    "Process Group Ranks": str(members), "Seq": 100 + number}
        name = "ncclDevKernel_AllReduce_Sum_f32_RING_LL"
        if self.kind == "silent":
            name = "renamed_by_a_vendor"
        if self.kind == "p2p":  # a collective that runs as sends: its annotation tells it
            name = "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclDevComm*, unsigned long, ncclWork*)"
            self.add("nccl:all_to_all", "user_annotation", at - 1, 8, 1)
        self.launch(name, at, begin, end - begin, 20, **args)
        if self.kind == "sends":  # and then longer ones that nothing tells the kind of
            self.launch("ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", at + 6, end + 10, 3000, 20)

    def write(self, path):
        with open(path, "w", encoding="utf-8") as f:
            json.dump({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "Example GPU", "numSms": 100}],
                       "distributedInfo": {"backend": "nccl", "rank": self.rank, "world_size": self.ranks},
                       "baseTimeNanoseconds": 1700000000000000000, "traceEvents": self.events}, f)


def make(folder, ranks, steps, kind):
    os.makedirs(folder, exist_ok=True)
    noise = random.Random(1)
    slow = ranks * 5 // 8 if kind != "even" else -1
    all_ranks = [Rank(i, ranks, kind) for i in range(ranks)]
    for step in range(steps):
        begin = 1000000.0 + step * STEP_US
        arrivals = [begin + 20 + compute_us(i, step, slow) for i in range(ranks)]
        if kind == "even":
            arrivals = [max(arrivals)] * ranks
        end = max(arrivals) + TRANSFER_US
        for rank in all_ranks:
            rank.add("ProfilerStep#%d" % step, "user_annotation", begin, STEP_US - 100, 1)
            rank.launch("ampere_sgemm_128x64_nn", begin + 5, begin + 20,
                        arrivals[rank.rank] - begin - 20, 7)
            # ends differ a little: what remains after the clocks are aligned
            if kind == "pairs":  # neighbours, then rank i and i + half: no group joins all
                i, half = rank.rank, ranks // 2
                for group, members, late in (("near", [i // 2 * 2, i // 2 * 2 + 1], 0),
                                             ("far", [i % half, i % half + half], TRANSFER_US)):
                    rank.all_reduce(begin + 12, end - TRANSFER_US + late, end + late + noise.uniform(-2, 2),
                                    step, group, members)
                continue
            rank.all_reduce(begin + 12, arrivals[rank.rank], end + noise.uniform(-2, 2), step)
            # the next kernel overlaps nothing
            rank.launch("vectorized_elementwise_kernel", begin + 40, end + 10, 500, 7)
    for rank in all_ranks:
        rank.write(os.path.join(folder, "rank%03d.json" % rank.rank))


def rows(folder, table):
    with open(os.path.join(folder, table + ".csv"), encoding="utf-8") as f:
        return list(csv.DictReader(f))


def near(what, got, want, within):
    assert got != "", "%s is empty, not %s" % (what, want)
    assert abs(float(got) - want) <= within, "%s is %s, not %s" % (what, got, want)


def clocks(folder, ranks):
    for r in rows(folder, "ranks"):
        rank = int(r["Rank"])
        near("clock of %d" % rank, r["Clock Offset (ns)"], 1e3 * (offset_us(rank) - offset_us(0)), 5000)
        assert float(r["Clock Residual (ns)"]) < 4500, r


def check(folder, ranks, steps, slow):
    end = [[max(compute_us(i, s, slow) for i in range(ranks)) for s in range(steps)]][0]
    table = rows(folder, "ranks")
    assert [int(r["Rank"]) for r in table] == list(range(ranks))
    for r in table:
        rank = int(r["Rank"])
        waiting = sum(end[s] - compute_us(rank, s, slow) for s in range(steps)) / steps
        near("clock of %d" % rank, r["Clock Offset (ns)"], 1e3 * (offset_us(rank) - offset_us(0)), 3000)
        near("waiting of %d" % rank, r["Waiting (ns)"], 1e3 * waiting, 6000)
        near("exposed of %d" % rank, r["Exposed Communication (ns)"],
             1e3 * (waiting + TRANSFER_US), 6000)
        near("compute of %d" % rank, r["Compute (ns)"],
             1e3 * (500 + sum(compute_us(rank, s, slow) for s in range(steps)) / steps), 100)
        assert float(r["Clock Residual (ns)"]) < 4500, r
        assert (r["Straggler"] == "yes") == (rank == slow), r
    near("last of the slow one", table[slow]["Last (%)"], 100, 0)
    assert [r["Rank"] for r in rows(folder, "rank-steps") if r["Straggler"] == "yes"] == [str(slow)] * steps
    calls = rows(folder, "collective-calls")
    assert len(calls) == steps
    for s, r in enumerate(calls):
        skew = end[s] - min(compute_us(i, s, slow) for i in range(ranks))
        assert r["Step"] == str(s) and r["Number"] == str(100 + s), r
        assert r["Ranks"] == str(ranks) and r["Last Rank"] == str(slow), r
        near("skew", r["Skew (ns)"], 1e3 * skew, 6000)
        near("transfer", r["Transfer (ns)"], 1e3 * TRANSFER_US, 2100)
    (one,) = rows(folder, "collectives")
    assert one["Collective"] == "allreduce" and one["Group"] == "0" and one["Dtype"] == "Float", one
    near("size", one["Size (bytes)"], 4 * ELEMENTS, 0)
    bus = 4 * ELEMENTS * 2 * (ranks - 1) / ranks / (TRANSFER_US * 1e-6) / 1e9
    near("bus bandwidth", one["Bus Bandwidth (GB/s)"], bus, bus * 0.01)


if __name__ == "__main__":
    if sys.argv[1] == "make":
        make(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5] if len(sys.argv) > 5 else "slow")
    elif sys.argv[1] == "clocks":
        clocks(sys.argv[2], int(sys.argv[3]))
    else:
        check(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), int(sys.argv[5]))
