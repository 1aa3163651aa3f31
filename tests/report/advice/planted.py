"""What --whatif predicts of a program, against the same program with that change planted.

    python3 planted.py SCENARIO_TRACE [WARPSHEET_RECORD PLANTED_CUDA FAKES]

Programs of random kernels, host work, data loading and synchronisations run on a simulated host and device: a launch takes the host
some µs, a kernel begins when it has been launched and its stream is free, a synchronisation ends when all streams are. The times are
planted, so nothing depends on the machine. Each change is predicted from the unchanged program, then the changed program runs. A
prediction is within 5 % of what came, half of them within 1 %, and no ladder ends above what a change reached.

With WARPSHEET_RECORD the programs run as processes (tests/recorder/cuda/planted.c) on the driver and the CUPTI in FAKES, and the recorder
records them: from there on all is what a user does.
"""
import csv
import os
import random
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'scenarios'))
import scenario

PROGRAMS, RECORDED, STEPS = 40, 15, 6
MOST, HALF = 5, 1  # percent
HOST = 'cause=waiting for the host x0'
LATENCY, QUEUE, RETURN = 9000, 1200, 3000  # of a launch; between queued kernels; of a call that has waited


class Program:
    def __init__(self, seed):
        at = random.Random(seed)
        kernels = [int(3000 * 60 ** at.random()) for _ in range(6)]
        self.steps = 0.02
        self.seed, self.ops = seed, []
        if at.random() < 0.5:
            self.ops.append(('load', int(2e5 + 1.5e6 * at.random())))
        for _ in range(int(20 + 60 * at.random())):
            kind = at.random()
            if kind < 0.04:
                self.ops.append(('work', int(1.2e5 + 8e5 * at.random())))
            elif kind < 0.08:
                self.ops.append(('wait', 0))
            else:
                which = int(6 * at.random())
                self.ops.append(('launch', which, kernels[which], 7 if at.random() < (0.8 if seed % 2 else 1) else 8))
        if at.random() < 0.7:
            self.ops.append(('wait', 0))

    def events(self, change):
        """What some steps do, with the time of each on the host."""
        at = random.Random(self.seed + 1)

        def varied(ns):
            return int(ns * (1 + self.steps * (at.random() - 0.5)))

        for _ in range(STEPS):
            yield 'step', 0
            for op in self.ops:
                yield 'work', varied(2000)
                if op[0] == 'load':
                    ns = varied(op[1] * change.get('load', 1))
                    if ns:
                        yield 'load', ns
                elif op[0] == 'work':
                    yield 'work', varied(op[1] * change.get('work', 1))
                elif op[0] == 'wait':
                    if change.get('wait', 1):
                        yield 'wait', 0
                    else:  # the call is made, and returns at once
                        yield 'work', RETURN
                else:
                    _, which, ns, stream = op
                    ns = varied(ns * change.get(which, 1))
                    yield 'launch', varied(5000), f'kernel_{which}', stream, ns
            yield 'end', 0

    def script(self, change):
        """For tests/recorder/cuda/planted.c."""
        for what, ns, *kernel in self.events(change):
            yield ' '.join(map(str, [what, kernel[0], kernel[1], ns, kernel[2]] if kernel else [what, ns] if ns else [what])) + '\n'

    def lines(self, change):
        """The same on a simulated device, as a scenario has it."""
        host, free, number, out = 0, {7: 0, 8: 0}, 0, []
        for what, ns, *kernel in self.events(change):
            number += 1
            if what == 'step':
                out.append(f'push {host} step')
            elif what == 'end':
                out.append(f'pop {host}')
            elif what == 'load':
                out += [f'push {host} enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__', f'pop {host + ns}']
            elif what == 'wait':
                ns = max([host, *free.values()]) + RETURN - host
                out.append(f'call {host} {ns} {number} name=cudaDeviceSynchronize')
            elif what == 'launch':
                name, stream, dur = kernel
                start = max(host + LATENCY, free[stream] + QUEUE)
                out += [f'call {host} {ns} {number} name=cudaLaunchKernel',
                        f'kernel {name} {start} {dur} correlation={number} stream={stream}']
                free[stream] = start + dur
            host += ns
        return '\n'.join(out) + '\n'

    def changes(self):
        """What is asked -> what is planted."""
        at = random.Random(self.seed + 2)
        used = sorted({op[1] for op in self.ops if op[0] == 'launch'})
        which = used[int(len(used) * at.random())]
        yield f'kernel~kernel_{which} x2', {which: 2}
        yield f'kernel~kernel_{which} x0.5', {which: 0.5}
        yield 'cause=computing x0.25', {which: 0.25 for which in used}
        kinds = {op[0] for op in self.ops}
        if 'load' in kinds:
            yield 'cause=waiting for data x0', {'load': 0}
            yield 'cause=waiting for data x2', {'load': 2}
        if 'wait' in kinds:
            yield 'cause=after a host synchronisation x0', {'wait': 0}
        # of several streams a replay knows one that a synchronisation waits for: docs/dev/replay.md
        if 'work' in kinds and len({op[3] for op in self.ops if op[0] == 'launch'}) == 1:
            yield HOST, {'work': 0.005}


def record(command, planted, fakes, script, path):
    environment = dict(os.environ, LD_LIBRARY_PATH=fakes, WARPSHEET_CUPTI_PATH=os.path.join(fakes, 'libcupti-fake.so'))
    made = subprocess.run([command, '-o', path, '--', 'env', 'LD_PRELOAD=' + os.path.join(fakes, 'libfake_clock.so'), planted],
                          input=script, env=environment, capture_output=True, text=True, check=False)
    whole = f"{script.count('launch')} kernels, {script.count('step') + script.count('load')} ranges"
    if made.returncode or whole not in made.stderr or 'lost' in made.stderr:
        sys.exit(f'{whole}: status {made.returncode}, {made.stderr}')


def main(runner, *recorder):
    runner = scenario.Program(runner)

    def table(path, name, *options):
        made = runner.run('report', path, '--table', name, '--format', 'csv', *options)
        if made.returncode:
            sys.exit(f'{path}: {made.stderr}')
        return list(csv.DictReader(made.stdout.splitlines()))
    errors, wrong = [], 0
    with tempfile.TemporaryDirectory() as folder:
        programs = [Program(seed) for seed in range(RECORDED if recorder else PROGRAMS)]
        path = {(p.seed, i): os.path.join(folder, f'{p.seed}-{i}.wtrace') for p in programs for i in range(9)}
        made = [(p, path[p.seed, i], change) for p in programs for i, change in enumerate([{}] + [planted for _, planted in p.changes()])]
        if recorder:
            for p, to, change in made:
                record(*recorder, ''.join(p.script(change)), to)
        else:
            runner.write_traces({to: p.lines(change) for p, to, change in made})
        for p in programs:
            asked = [question for question, _ in p.changes()]
            told = [table(path[p.seed, 0], 'whatif', '--whatif', question)[0] for question in asked]
            bound = float(table(path[p.seed, 0], 'ladder')[-1]['Time per Step (ns)'])
            for i, (question, row) in enumerate(zip(asked, told)):
                came = float(table(path[p.seed, i + 1], 'whatif', '--whatif', 'kernel~. x1')[0]['Now (ns)'])
                error = 100 * (float(row['Then (ns)'] or 'nan') - came) / came
                errors.append(abs(error))
                is_rung = question == HOST or question in ('cause=waiting for data x0', 'cause=after a host synchronisation x0')
                if not abs(error) <= MOST or is_rung and bound > came * (1 + HALF / 100):
                    wrong += 1
                    print(f'program {p.seed}, {question}: now {float(row["Now (ns)"]) / 1e3:.0f} us, predicted '
                          f'{float(row["Then (ns)"] or "nan") / 1e3:.0f}, came {came / 1e3:.0f} ({error:+.1f} %), bound {bound / 1e3:.0f}')
    median = statistics.median(errors)
    print(f'{len(errors)} changes of {len(programs)} programs: median error {median:.2f} %, largest {max(errors):.2f} %')
    return 1 if wrong or not median <= HALF else 0


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
