#!/usr/bin/env python3
"""Random traces beside SQL, as oracle.py does: random_traces.py SCENARIO_TRACE SORT FIRST END

SORT: plain, shuffled (rows out of order), ids (used twice, in two processes, kernels before their
calls), crossing (domains, ranges that any thread ends), framework (operations, links, modules). Begins and ends of ranges have
moments of their own: at one moment an export does not tell which came first.
"""
import os
import random
import sys
import tempfile

import oracle
import scenario

THREADS = 3
RANGES = ["warm-up", "Warmup Step 1", "step", "forward", "backward", "setup", "a", "b", "optimizer", "step", "forward", "computing softmax",
          "layer 2", "final matmul", "loss", "enumerate(DataLoader)#0", "ProfilerStep#", "batch 0x", "x/y"]
KERNELS = ["ws_softmax_k", "elementwise_kernel", "unheard_of", "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
           "at::native::float16_copy_kernel_cuda", "ws_gemm_k", "sgemm_128x64"]
OPS = ["aten::mm", "aten::softmax", "aten::nll_loss", "autograd::engine::evaluate_function: MmBackward0",
       "Optimizer.step#SGD.step", "c10d::allreduce_"]


class Scene:
    """A program that does anything on three threads; each act is a line of a scenario."""
    def __init__(self, sort, seed):
        self.r = random.Random(f"{sort} {seed}")
        self.sort = sort
        self.now = self.last_id = self.starts = self.busy_until = 0
        self.last_is_call = False
        self.depth = [0] * (THREADS + 1)
        self.other_depth = [0] * (THREADS + 1)
        self.lines = ["device id=1 kind=cuda name=Other", "mark 0 begin"]
        for thread in range(2, THREADS + 1):
            self.say(f"thread id={thread} pid={self.process(thread)} tid={1000 + thread}")
        if sort == "framework":
            self.say_operations()
        for _ in range(self.r.randrange(20, 320)):
            self.act()
        self.say(f"mark {max(self.now, self.busy_until) + 1} end")  # an export has no ends without a begin

    def say(self, line):
        self.lines.append(line)

    def process(self, thread):
        return 101 if self.sort == "ids" and thread == THREADS else 100

    def one_in(self, n):
        return not self.r.randrange(n)

    def next_id(self):
        if self.sort == "ids" and self.last_id and self.one_in(4):
            return max(1, self.last_id - self.r.randrange(6))
        self.last_id += 1
        return self.last_id

    def begins(self, start):
        """When what was launched then runs."""
        if self.sort == "ids" and self.one_in(8):
            return start - self.r.randrange(300)
        if self.sort == "ids" and self.one_in(60):
            return start - 3000000000
        return start + self.r.randrange(400)

    def act(self):
        r, thread, what = self.r, self.r.randrange(1, THREADS + 1), self.r.randrange(8)
        # a call may begin with the range before it, and end with the one behind it
        if not (self.one_in(3) and (what > 3) != self.last_is_call):
            self.now += 1 + r.randrange(50)
        self.say(f"on {thread}")
        self.last_is_call = what > 3
        if self.sort == "crossing" and self.one_in(3):
            self.last_is_call = False
            self.now += 1
            self.cross(thread)
            return
        if what < 2 and self.depth[thread] < 5:
            self.begin()
            self.depth[thread] += 1
        elif what in (2, 3) and (self.depth[thread] or self.one_in(20)):
            self.say(f"pop {self.now}")
            self.depth[thread] -= self.depth[thread] > 0
        elif what == 4:
            self.other_call(thread)
        elif what > 4:
            self.call(thread)
        if self.one_in(15):
            self.say("flush")
        if self.sort == "shuffled" and self.one_in(40):
            self.now -= 30
            self.say("flush")

    def begin(self):
        r, name = self.r, self.r.choice(RANGES)
        if name[-1] in "#x":
            name += str(r.randrange(3))
        if r.randrange(3):
            self.say(f'push {self.now} "{name}"')
        else:
            op = r.choice(["gemm", "softmax", "scale", "attention", None])
            self.say(f"push {self.now} {r.choice(['op', 'other'])} flops={r.randrange(1000)} read={r.randrange(100)}"
                     + (f" op={op}" if op else "") + r.choice(["", " direction=forward"])
                     + r.choice(["", " dtype=fp32", " dtype=bf16"]))

    def call(self, thread):
        r, start, number = self.r, self.now, self.next_id()
        dur = 1 + r.randrange(20)
        # a launch has a kernel, and one without an id may have none: else its step is in no table
        ids = [0 if self.one_in(20) else number for _ in range(r.randrange(4) if self.one_in(8) else 1)]
        call_id = 0 if self.one_in(10) else number
        name = "" if not call_id or call_id in ids else " name=cudaEventRecord"
        self.say(f"call {start} {dur} {call_id}{name}")
        self.now += dur
        for kernel_id in ids:
            begin = self.begins(start)
            if start <= begin < self.busy_until and not self.one_in(4):
                begin = self.busy_until
            is_long = self.one_in(50)  # on a stream of its own: a stream runs one kernel at a time
            dur = 5 << 32 if is_long else r.choice([64, r.randrange(300)])
            stream = 100 + len(self.lines) if is_long else r.choice([7, 8])
            self.busy_until = begin + dur
            self.say(f"kernel {r.choice(KERNELS)} {begin} {dur} correlation={kernel_id}"
                     f" device={r.randrange(2)} pid={self.process(thread)} stream={stream}"
                     f" registers={r.choice([0, 32, 64])} grid_x={r.choice([1, 8])} grid_y=1 grid_z=1 block_y=1 block_z=1")

    def other_call(self, thread):
        r, number, dur = self.r, self.next_id(), 1 + self.r.randrange(60)
        name = r.choice(["cudaMemcpyAsync_v3020", "cudaStreamSynchronize"])
        self.say(f"call {self.now} {dur} {number} name={name} result={number % 9 == 0:d}")
        if "Memcpy" in name:
            self.say(f"memcpy start_ns={self.begins(self.now)} dur_ns={r.randrange(200)} bytes={1 + r.randrange(1000)}"
                     f" kind={r.choice(['htod', 'dtoh', 'dtod'])} device={r.randrange(2)} pid={self.process(thread)}"
                     f" correlation={0 if self.one_in(10) else number}")
        self.now += dur

    def cross(self, thread):
        """A range of another domain, or one that any thread may end."""
        r, what = self.r, self.r.randrange(6)
        if what < 2:
            self.starts += 1
            self.say(f"start {self.now} {r.choice(['step', 'forward', 'copy', 'warm-up', 'setup'])} {self.starts}")
        elif what < 4 and self.starts:
            self.say(f"end {self.now} {max(1, self.starts - r.randrange(4))}")
        elif what == 4 and self.other_depth[thread] < 3:
            self.say("domain other")
            self.begin()
            self.other_depth[thread] += 1
        elif what == 5 and self.other_depth[thread]:
            self.say(f"domain other\npop {self.now}")
            self.other_depth[thread] -= 1
        self.say("domain warpsheet")

    def say_operations(self):
        r, ops = self.r, []
        for i, name in enumerate(OPS, 1):
            self.say(f'op_config id={i} name="{name}" kind={r.randrange(5)} direction={r.randrange(3)}'
                     f" dtype={r.randrange(4)} cost={r.randrange(3)} flops={r.randrange(1000)}")
        for i in range(40):
            start, thread = r.randrange(3000), r.randrange(1, THREADS + 1)
            ops.append((start, thread))
            self.say(f"cpu_op start_ns={start} dur_ns={r.randrange(r.choice([100, 1000]))} thread={thread}"
                     f" config={1 + r.randrange(6)} external_id={r.choice([0, i + 1])}")
        for _ in range(10):
            (begin, on), (end, to) = r.choice(ops), r.choice(ops)
            self.say(f"flow from_ns={begin} from_thread={on} to_ns={end} to_thread={to}")
        for i in range(20):
            self.say(f"external_link correlation={1 + r.randrange(100)} kind={r.choice(['custom0', 'custom0', 'unknown'])}"
                     f" external_id={1 + r.randrange(40)}")


def alone(program, path):
    """What compares traces makes something of a trace and itself: as sides, ranks, a configuration."""
    for command in (["diff", path, path], ["report", path, path], ["sweep", path]):
        made = program.run(*command)
        # 1: they differ, or a rank ran no communication
        if made.returncode not in (0, 1) or not made.stdout:
            yield f"{command[0]}: status {made.returncode}: {made.stderr.strip()}"


def main():
    program, sort, first, end = sys.argv[1:]
    program = scenario.Program(program)
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(int(first), int(end)):
            path = os.path.join(folder, f"{sort}-{seed}.wtrace")
            text = "\n".join(Scene(sort, seed).lines) + "\n"
            program.write_trace(text, path)
            for why in oracle.wrongs(program, path):
                wrong += 1
                print(f"{sort} {seed}: {why}")
            for why in alone(program, path):
                wrong += 1
                print(f"{sort} {seed}: {why}")
            os.unlink(path)
    sys.exit(wrong > 0)


main()
