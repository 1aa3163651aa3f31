#!/usr/bin/env python3
"""A program of steps that uses NVTX as a module of its own does: ranges `step` inside `epoch`, in each a range
`load` and a CPU kernel `work`. Usage: steps.py SPEC...

N:MS       N steps; the kernel of each takes MS milliseconds
N:MS:LOAD  the same, with LOAD milliseconds in `load` before it
name:TEXT  kernels are called TEXT from here on, not `work`
launches:K  from here on the kernel of a step is K launches of the driver of ../cuda/fake.h. A step that begins late, by up
           to a second, is shorter
tally:FILE  from here on each launch of the driver has a grid of its own, 1, 2, 3 …; before it, its time is added to FILE (i64)
file:NAME  make this file
beside:N:MS,N:MS…  meanwhile another thread makes N steps of MS milliseconds, then the next ones
exit:CODE  end now; kill: by SIGKILL; killed: kills the recorder; usr2: sends it SIGUSR2; dump: `warpsheet ctl dump`
"""
import ctypes
import os
import signal
import subprocess
import sys
import threading
import time

CALLBACKS, CORE, CORE2 = 1, 1, 5
Function = ctypes.c_void_p
SIZE = 16
tables = {module: (Function * SIZE)() for module in (CORE, CORE2)}
places = {module: (ctypes.POINTER(Function) * SIZE)(*[
    ctypes.cast(ctypes.addressof(table) + 8 * i, ctypes.POINTER(Function)) for i in range(SIZE)])
    for module, table in tables.items()}


@ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_uint))
def module_table(module, table, size):
    if module not in places:
        return 0
    table[0] = ctypes.addressof(places[module])
    size[0] = SIZE
    return 1


class Callbacks(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("get", ctypes.c_void_p)]


class Event(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint16), ("size", ctypes.c_uint16), ("category", ctypes.c_uint32),
                ("color_type", ctypes.c_int32), ("color", ctypes.c_uint32), ("payload_type", ctypes.c_int32),
                ("reserved", ctypes.c_int32), ("payload", ctypes.c_uint64), ("message_type", ctypes.c_int32),
                ("message", ctypes.c_char_p)]


callbacks = Callbacks(ctypes.sizeof(Callbacks), ctypes.cast(module_table, ctypes.c_void_p))
export_table = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_uint32)(
    lambda which: ctypes.addressof(callbacks) if which == CALLBACKS else None)
if not ctypes.CDLL(os.environ["NVTX_INJECTION64_PATH"]).InitializeInjectionNvtx2(export_table):
    sys.exit("the recorder does not answer")


def function(module, number, result, *arguments):
    return ctypes.CFUNCTYPE(result, *arguments)(tables[module][number])


push = function(CORE, 9, ctypes.c_int, ctypes.c_char_p)
pop = function(CORE, 11, ctypes.c_int)
domain_push = function(CORE2, 4, ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(Event))
domain_pop = function(CORE2, 5, ctypes.c_int, ctypes.c_void_p)
cpu = function(CORE2, 12, ctypes.c_void_p, ctypes.c_char_p)(b"warpsheet.cpu")


def kernel(name, seconds):
    domain_push(cpu, Event(version=3, size=ctypes.sizeof(Event), message_type=1, message=name))
    time.sleep(seconds)
    domain_pop(cpu)


def steps_beside(specs):
    for count, milliseconds in (spec.split(":") for spec in specs.split(",")):
        for _ in range(int(count)):
            push(b"step")
            kernel(b"beside", float(milliseconds) / 1e3)
            pop()


KERNELS = [b"_Z4gemmPfS_i", b"_Z7softmaxPf", b"_Z4castPfPh", b"_Z4adamPf", b"_Z5scalePf"]


def start_cuda():
    cuda = ctypes.CDLL("libcuda.so.1")
    cuda.cuInit(0)
    cuda.cuLaunchKernel.argtypes = [ctypes.c_char_p, ctypes.c_uint64, ctypes.c_uint]
    return cuda.cuLaunchKernel


push(b"epoch")
name = "work"
launches, launch, due = 0, None, None
tally, launched = None, 0
for spec in sys.argv[1:]:
    what, _, rest = spec.partition(":")
    if what == "name":
        name = rest
        continue
    if what == "launches":
        launches, launch, due = int(rest) // len(KERNELS), launch or start_cuda(), time.monotonic()
        continue
    if what == "file":
        open(rest, "w").close()
        continue
    if what == "tally":
        tally = os.open(rest, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        continue
    if what == "beside":
        threading.Thread(target=steps_beside, args=(rest,)).start()
        continue
    if what == "exit":
        sys.exit(int(rest))
    if what == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if what in ("usr2", "killed"):
        os.kill(os.getppid(), signal.SIGUSR2 if what == "usr2" else signal.SIGKILL)
        continue
    if what == "dump":
        subprocess.run(["warpsheet", "ctl", "dump", str(os.getppid())], check=True)
        continue
    work, _, load = rest.partition(":")
    for _ in range(int(what)):
        push(b"step")
        push(b"load")
        time.sleep(float(load or 0) / 1e3)
        pop()
        if launch:
            for _ in range(launches):
                for number, one in enumerate(KERNELS):
                    if tally is not None:
                        launched = number = launched + 1
                        os.write(tally, time.monotonic_ns().to_bytes(8, "little"))
                    launch(one, 0, number + (tally is None))
            due = max(due + float(load or 0) / 1e3, time.monotonic() - 1) + float(work) / 1e3
            time.sleep(max(0, due - time.monotonic()))
        else:
            kernel(name.encode(), float(work) / 1e3)
        pop()
pop()
