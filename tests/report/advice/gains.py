"""Gains of the advice, worked out a second time: from our SQLite and CSV, not by our rules' code, and replayed by replay.py.

    python3 gains.py WARPSHEET DEVICES.md FOLDER TRACE...

The formulas are those of docs/reference/advice.md and docs/reference/idle.md. A kernel counts for the finding that is told
first, and for no other: a gain that counted it twice differs. No gain is more than its kernels took. Prints a table in
Markdown. Exit status 1: a gain differs, or none was compared; 77: there is no such folder.
"""
import bisect
import collections
import csv
import fnmatch
import itertools
import math
import os
import re
import sqlite3
import subprocess
import sys
import tempfile

from replay import Replay

USE_OF = {'A1': 'launch', 'A16': 'data', 'A17': 'comm', 'A18': 'copy', 'A19': 'sync', 'A20': 'host', 'A23': 'wait', 'A24': 'queue',
          'A25': 'start', 'A26': 'end'}
COST = 'flops bytes_read bytes_written'.split()
NONE = math.nan


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def table(warpsheet, trace, name, *options):
    text = run(warpsheet, 'report', trace, '--table', name, '--format', 'csv', *options)
    return list(csv.DictReader(line for line in text.splitlines() if not line.startswith('#')))


def union(spans):
    """Disjoint and ascending."""
    out = []
    for start, end in sorted(spans):
        if out and start <= out[-1][1]:
            out[-1] = (out[-1][0], max(out[-1][1], end))
        else:
            out.append((start, end))
    return out


class Trace:
    def __init__(self, warpsheet, path, devices, folder):
        database = os.path.join(folder, 'trace.sqlite')
        if os.path.exists(database):
            os.unlink(database)
        if not path.endswith('.wtrace'):
            run(warpsheet, 'import', path, '-o', database + '.wtrace')
            path = database + '.wtrace'
        run(warpsheet, 'export', path, '-o', database)
        self.db = sqlite3.connect(database)
        self.strings = dict(self.db.execute('select id, value from StringIds'))
        self.advice = table(warpsheet, path, 'advice')
        self.recording = None
        gpu = self.rows('select name, smCount, computeMajor from TARGET_INFO_GPU')
        gpu.sort(key=lambda g: not g[0])  # ROCm runs on numbers that it does not name
        self.sms, self.capability = (gpu[0][1], gpu[0][2]) if gpu else (None, None)
        self.peak = next((p for n, p in devices if gpu and fnmatch.fnmatchcase(gpu[0][0] or '', n)), None)
        self.read_calls()
        self.read_windows()
        self.read_kernels(table(warpsheet, path, 'kernel-trace', '--scope', 'all'))
        self.read_copies()
        self.find_windows()
        self.find_setup()
        self.find_operations()
        os.path.exists(database + '.wtrace') and os.unlink(database + '.wtrace')

    def rows(self, query):
        try:
            return self.db.execute(query).fetchall()
        except sqlite3.OperationalError:  # such records are not in the trace
            return []

    def read_calls(self):
        self.calls, self.syncs, self.all_calls, self.host_calls = {}, [], {}, []
        for start, end, tid, correlation, name in self.rows(
                'select start, end, globalTid, correlationId, nameId from CUPTI_ACTIVITY_KIND_RUNTIME'):
            self.calls.setdefault((tid >> 24, correlation), (start, end, tid))
            waits = re.search('Synchronize|^(cu|cuda|hip)Memcpy(?!.*Async)', self.strings[name])
            if waits:
                self.syncs.append((start, end))
            frees = self.strings[name] in ('cudaFree', 'cuMemFree', 'cuMemFree_v2', 'hipFree')
            kind = re.search('(Device|Thread|Ctx|Stream)Synchronize', self.strings[name])
            self.all_calls[tid >> 24, correlation, start] = (start, end, tid, not kind and bool(waits or frees) or
                                                             kind and ('stream' if kind[1] == 'Stream' else 'all'))
            self.host_calls.append((end, start, tid, self.strings[name], (tid >> 24, correlation)))

    def read_windows(self):
        ranges = self.rows("select start, end, coalesce(text, (select value from StringIds where id = textId)), globalTid from NVTX_EVENTS "
                           'where end is not null order by start')
        self.ranges = ranges
        self.loads = sorted(r[:2] for r in ranges if 'dataloader' in r[2].lower())
        self.steps = [(r[0], r[1], r[3]) for r in ranges if re.fullmatch(r'step|ProfilerStep#\d+', r[2])]
        ends = [(r[1], r[3]) for r in ranges if r[2].startswith('Optimizer.step#')]
        if not self.steps and len(ends) > 1:  # iterations that one optimizer marks
            first = min([r[0] for r in ranges if r[2].startswith('Optimizer.')] + [r[0] for r in self.rows('select start_ns from WARPSHEET_cpu_op')])
            self.steps = [(start, end, thread) for (start, _), (end, thread) in zip([(first, None)] + ends, ends)]
        self.warm_up = [r[:2] for r in ranges if any(re.fullmatch(r'warmup(step|iter|iteration|run)?s?', re.sub(r'[-_ #:.\[\]]|\d+$', '', field.lower()))
                                                     for field in r[2].split('|'))]
        warm = self.warm_up
        self.hosts = [s for s in self.steps if not any(w[0] <= s[0] < w[1] for w in warm)]
        self.measured = [s[:2] for s in self.hosts]

    def read_kernels(self, told):
        found = self.rows('select start, end, streamId, correlationId, globalPid, demangledName, deviceId from '
                          'CUPTI_ACTIVITY_KIND_KERNEL order by start, streamId')
        told.sort(key=lambda r: (int(r['Start (ns)']), int(r['Stream'])))
        assert len(found) == len(told), 'kernel-trace and the database have other kernels'
        self.kernels = []
        for (start, end, stream, correlation, pid, name, device), row in zip(found, told):
            call = self.calls.get(((pid or 0) >> 24, correlation))
            self.kernels.append(dict(start=start, end=end, ns=end - start, call=call, key=((pid or 0) >> 24, correlation), name=self.strings[name],
                                     device=device, stream=(pid, device, stream),
                                     shape=tuple(row[c] for c in ('Grid X', 'Grid Y', 'Grid Z', 'Block X', 'Block Y', 'Block Z', 'Registers',
                                                                  'Shared Memory (bytes)')),
                                     blocks=math.prod(int(row['Grid ' + d] or 0) for d in 'XYZ'),
                                     kind=row['Op Class'], path=row['Path'], tensor=row['Tensor Cores'], dtype=row['Dtype'],
                                     step=self.step_of(call[0] if call else start)))

    def step_of(self, time):
        return next((i for i, s in enumerate(self.hosts) if s[0] <= time < s[1]), None)

    def read_copies(self):
        self.copies = []
        for kind in ('MEMCPY', 'MEMSET'):
            for start, end, correlation, pid, device, stream in self.rows(
                    f'select start, end, correlationId, globalPid, deviceId, streamId from CUPTI_ACTIVITY_KIND_{kind}'):
                key = ((pid or 0) >> 24, correlation)
                self.copies.append((start, end, self.calls.get(key), device, key, (pid, device, stream)))
        ends = collections.defaultdict(list)
        for k in self.kernels:
            ends[k['step']].append(k['end'])
        for start, end, call, *_ in self.copies:
            ends[self.step_of(call[0] if call else start)].append(end)
        for at, step in enumerate(self.measured):  # a step lasts to the end of its last device work
            self.measured[at] = (step[0], max([step[1]] + ends[at]))

    def find_windows(self):
        """Of the measured steps, with their device work; self.which: the median one, of which everything is told."""
        self.windows, before = [], None
        for at, (start, end) in enumerate(self.measured):
            work = [k['end'] for k in self.kernels if k['call'] and k['step'] == at]
            work += [c[1] for c in self.copies if self.step_of_copy(c) == at]
            begin = max(start, before) if before is not None else self.first_begin(start, at)
            self.windows.append((begin, max([end] + work)))
            before = self.windows[-1][1]
        order = sorted(range(len(self.windows)), key=lambda i: (self.windows[i][1] - self.windows[i][0], -i))
        self.which = order[(len(order) - 1) // 2] if order else None
        self.count = [k for k in self.kernels if k['step'] == self.which] if self.steps else self.kernels

    def find_setup(self):
        """What happens once, as idle.md has it: spans, disjoint."""
        spans, pauses, until, capture, long_calls, kernels = [], {}, {}, {}, [], collections.defaultdict(list)
        for k in self.kernels:
            if k['call']:
                kernels[k['name']].append(k['key'])
        self.host_calls.sort(key=lambda c: c[0])
        row = {}
        for i, (end, start, tid, name, key) in enumerate(self.host_calls):
            launches = re.search('LaunchKernel|GraphLaunch|LaunchCooperativeKernel', name)
            row[key] = i
            if 'StreamBeginCapture' in name:
                capture[tid] = start
            if 'StreamEndCapture' in name and tid in capture:
                spans.append((capture.pop(tid), end))
            if launches and tid in until and start - until[tid] > 100000:
                pauses[i] = (until[tid], start)
            until[tid] = end
            if end - start > 100000 and not re.search('Synchronize|Memcpy', name):
                long_calls.append((i, name, bool(launches), start, end))
        first = {}
        for name, keys in kernels.items():
            rows = sorted(row[key] for key in keys if key in row)
            if not rows:
                continue
            first[rows[0]] = name
            length = [p[1] - p[0] if p else 0 for p in map(pauses.get, rows)]
            if len(rows) > 2 and length[0] > 4 * max(length[1:]):
                spans.append(pauses[rows[0]])
        longest = collections.defaultdict(lambda: [0] * 4)
        for i, name, _, start, end in long_calls:
            quarter = 4 * i // len(self.host_calls)
            longest[name][quarter] = max(longest[name][quarter], end - start)
        has_loop = {1, 2, 3} - {4 * i // len(self.host_calls) for i in first}
        spans += [(start, end) for i, name, launches, start, end in long_calls
                  if (i in first if launches else not has_loop or 4 * min(longest[name][1:]) < end - start)]
        if len(self.windows) > 2 and self.hosts[0] == self.steps[0]:
            median = self.windows[self.which][1] - self.windows[self.which][0]
            spans += itertools.takewhile(lambda w: w[1] - w[0] > 2 * median, self.windows)
        spans += self.warm_up
        window = self.measured if self.steps else [(min(k['start'] for k in self.kernels), max(k['end'] for k in self.kernels))]
        if len(window) == 1 and 2 * sum(e - s for s, e in union(spans)) > window[0][1] - window[0][0]:
            spans += [p for p in pauses.values() if p[1] - p[0] > 1000000]
        self.setup = union(spans)
        self.may_wait = len({k['device'] for k in self.kernels}) > 1 or \
            any(re.search('StreamWait|LaunchHostFunc', s) for s in self.strings.values())

    def find_operations(self):
        """Each kernel's innermost operation whose cost is known: by the thread and the time of its launch."""
        by_thread = collections.defaultdict(list)
        for row in self.rows('select o.start_ns, o.start_ns + o.dur_ns, o.thread, c.name, c.dtype, c.batch, c.m, c.n, c.k, c.cost, '
                             'c.flops, c.bytes_read + c.bytes_written, c.kind from WARPSHEET_cpu_op o join WARPSHEET_op_config c on '
                             'o.config = c.id order by o.start_ns, o.dur_ns desc'):
            by_thread[row[2]].append(row)
        groups = collections.defaultdict(lambda: dict(ns=0, ops=set(), kernels=[]))
        for thread, ops in by_thread.items():
            mine = sorted((k for k in self.count if k['call'] and k['call'][2] == thread), key=lambda k: k['call'][0])
            open_ops, at = [], 0
            for k in mine:
                while at < len(ops) and ops[at][0] <= k['call'][0]:
                    open_ops.append((at, ops[at]))
                    at += 1
                open_ops = [o for o in open_ops if o[1][1] >= k['call'][0]]
                costed = [o for o in open_ops if o[1][9]]
                if costed:
                    index, op = costed[-1]
                    g = groups[op[3:9] + op[10:13] + (k['device'],)]
                    g['key'], g['op'] = op[3:9] + op[10:12], op
                    g['ns'] += k['ns']
                    g['ops'].add((thread, index))
                    g['kernels'].append(k)
                    k['group'] = g
        self.groups = list(groups.values())
        for g in self.groups:
            (_, _, _, _, _, g['batch'], g['m'], g['n'], g['k'], _, g['flops'], g['bytes'], g['kind']) = g['op']
            g['name'], g['calls'] = self.strings[g['op'][3]], len(g['ops'])
            longest = max(g['kernels'], key=lambda k: k['ns'])
            g['longest'], g['dtype'], g['tensor'] = longest['name'], longest['dtype'], longest['tensor']
            g['class'] = longest['kind']

        self.find_attention()

    def find_attention(self):
        """From a batched product to the next, with a softmax between them: by order on the thread."""
        by_thread = collections.defaultdict(list)
        for k in self.count:
            if k['call']:
                by_thread[k['call'][2]].append(k)
        for kernels in by_thread.values():
            kernels.sort(key=lambda k: k['call'][0])
            is_product = lambda k: k.get('group') and k['group']['class'] == 'gemm' and (k['group']['batch'] or 0) > 1
            at = [i for i, k in enumerate(kernels) if is_product(k)]
            for first, last in zip(at, at[1:]):
                if any(k['kind'] == 'softmax' for k in kernels[first:last]):
                    for k in kernels[first:last + 1]:
                        k['attention'] = True

    # --- what the device can do

    def roof(self, g):
        if not self.peak or not g['flops']:
            return NONE
        flops = self.peak.get(g['dtype'] if g['tensor'] != 'no' else 'fp32', 0) * 1e12
        if not flops:
            return NONE
        return g['calls'] * max(g['flops'] / flops, g['bytes'] / (self.peak['memory'] * 1e9)) * 1e9

    # --- uses of the device

    def replay(self):
        """Of the median measured step, else of the whole trace."""
        n = min(len(self.windows), 9)
        others = [self.replay_of(i * len(self.windows) // n) for i in range(n) if i * len(self.windows) // n != self.which]
        median = self.replay_of(self.which)
        median.trust_hidden_waits(others)
        return median

    def replay_of(self, which):
        key_of = {(c[0], c[1], c[2]): key for key, c in self.all_calls.items()}
        def piece(row, start, end, call, use, stream, step, is_kernel):
            return dict(row=row, start=start, ns=end - start, call=key_of.get(call), use=use, stream=stream, is_kernel=is_kernel, step=step)
        pieces = [piece(i, k['start'], k['end'], k['call'], 'comm' if k['kind'] == 'comm' else 'kernel', k['stream'], k['step'] if k['call'] else None, True)
                  for i, k in enumerate(self.kernels)]
        pieces += [piece(i, c[0], c[1], c[2], 'copy', c[5], self.step_of_copy(c), False) for i, c in enumerate(self.copies)]
        if which is None:
            window = (min(p['start'] for p in pieces), max(p['start'] + p['ns'] for p in pieces))
            step, between = None, 0
        else:
            window, step = self.windows[which], self.hosts[which]
            between = max(0, step[0] - self.hosts[which - 1][1]) if which and window[0] > step[0] else 0
        for p in pieces:
            p['in_step'] = step is None or p['step'] == which or \
                (p['step'] is None and window[0] <= p['start'] < window[1])
        return Replay(pieces, self.all_calls, self.loads, self.setup, window, step, between, self.path_of_call)

    def path_of_call(self, key):
        """The names of the ranges around a call, outermost first; a step's number is no part of its name."""
        start, end, thread, _ = self.all_calls[key]
        around = [r for r in self.ranges if r[3] == thread and r[0] <= start and end <= r[1]]
        return '/'.join(re.sub(r'^(ProfilerStep)#\d+$', r'\1#*', r[2]).replace('/', '\\/')
                        for r in sorted(around, key=lambda r: (r[0], -r[1])))

    def first_begin(self, start, at):
        """The first window begins no earlier than the work before all steps ends."""
        mine = [k['start'] for k in self.kernels if k['call'] and k['step'] == at] + [c[0] for c in self.copies if self.step_of_copy(c) == at]
        work = [(k['call'], k['start'], k['end']) for k in self.kernels] + [(c[2], c[0], c[1]) for c in self.copies]
        return max([start] + [end for call, begin, end in work if mine and end < min(mine) and (call[0] if call else begin) < start])

    def step_of_copy(self, copy):
        return self.step_of(copy[2][0]) if copy[2] else None

    def uses(self):
        out = collections.Counter()
        windows = [self.windows[self.which]] if self.steps else None
        devices = {k['device'] for k in self.kernels}
        for device in devices:
            work = [(k['start'], k['end'], k['call'], 'comm' if k['kind'] == 'comm' else 'kernel', k['path']) for k in self.kernels
                    if k['device'] == device]
            work += [c[:3] + ('copy', self.path_at(c[2])) for c in self.copies if c[3] == device]
            work.sort(key=lambda w: w[0])
            spans = windows or [(min(w[0] for w in work), max(w[1] for w in work))]
            for start, end in spans:
                self.one_window(work, start, end, out)
        self.wall = sum(e - s for s, e in (windows or [(min(k['start'] for k in self.kernels), max(k['end'] for k in self.kernels))]))
        return {use: ns / max(1, len(devices)) for use, ns in out.items()}

    def one_window(self, work, start, end, out):
        inside = [w for w in work if w[1] > start and w[0] < end]
        points = sorted({start, end} | {min(max(t, start), end) for w in inside for t in w[:2]})
        starts = [w[0] for w in inside]
        began = max((w[1] for w in work if w[1] <= start), default=start)
        for a, b in zip(points, points[1:]):
            kinds = {w[3] for w in inside if w[0] <= a and w[1] >= b}
            if kinds:
                out['kernel' if 'kernel' in kinds else 'comm' if 'comm' in kinds else 'copy'] += b - a
                continue
            earlier = any(w[0] < a or w[1] <= a for w in work if w[0] < a)
            following = inside[bisect.bisect_left(starts, b)] if bisect.bisect_left(starts, b) < len(inside) else None
            if not earlier:
                out['data' if self.is_loading(a, b) else 'setup' if self.is_setup(a, b) else 'start'] += b - a
            elif not following:
                after = next((w for w in work if w[0] >= b), None)
                if after:
                    self.explain(a, b, after[0], after, out, began if a == start else a)
                else:
                    out['data' if self.is_loading(a, b) else 'setup' if self.is_setup(a, b) else 'end'] += b - a
            else:
                self.explain(a, b, b, following, out, began if a == start else a)

    def path_at(self, call):
        return '/'.join(r[2] for r in self.ranges if call and r[3] == call[2] and r[0] <= call[0] < r[1])

    def recorded(self, thread, start, end):
        """When a thread recorded: from the begin of each launch 1.6 us, of a range 0.08, of an operation 0.5."""
        if self.recording is None:
            keys = {bytes(key) for key, in self.rows('select key from WARPSHEET_meta')}
            ours = b'cupti.version' in keys and b'import.source' not in keys
            events = [(c[2], c[0], 1600) for c in [k['call'] for k in self.kernels] + [c[2] for c in self.copies] if c]
            events += [(r[3], r[0], 80) for r in self.ranges] + self.rows('select thread, start_ns, 80 from WARPSHEET_python_call')
            events += self.rows('select thread, start_ns, 500 from WARPSHEET_cpu_op')
            spans = collections.defaultdict(list)
            for of, begin, cost in events if ours else []:
                spans[of].append((begin, begin + cost))
            self.recording = {of: union(list_of) for of, list_of in spans.items()}
        of = self.recording.get(thread, [])
        return of[max(0, bisect.bisect(of, (start, start)) - 1):bisect.bisect(of, (end, end))]

    def waits(self, use, scope='whole run'):
        """The time of a use, in all or for the launches of a range; without what recording takes in it."""
        uses = self.uses()

        def of(use):
            return uses.get(use, 0) if scope == 'whole run' else sum(
                ns for key, ns in uses.items() if key[0] == use and f'{key[1]}/'.startswith(f'{scope}/'))
        return of(use), of('recording') if use == 'launch' else 0, uses.get('recording', 0)

    def without_recording(self, gain, use, scope='whole run'):
        """Of the gain by removing the waits of a use: without what recording takes in them, nor in others that vanish."""
        waits, inside, recording = self.waits(use, scope)
        more = max(0, gain - waits) if waits else 0
        return max(0, gain - inside - min(recording - inside, more))

    def at_most_the_wait(self, gain, use, scope='whole run'):
        waits, inside, _ = self.waits(use, scope)
        return min(gain, waits - inside)

    def late(self):
        return 'wait' if self.may_wait else 'unknown'

    def is_loading(self, start, end):
        return 2 * sum(max(0, min(e, end) - max(s, start)) for s, e in self.loads) > end - start

    def is_setup(self, start, end):
        return 2 * sum(max(0, min(e, end) - max(s, start)) for s, e in self.setup) > end - start

    def explain(self, a, b, begins, work, out, since):
        """Idle from a to b, which may be part of a gap that began before the window, at since."""
        call = work[2]
        if not call:
            out['unknown'] += b - a
            return
        if call[1] <= since:
            out['queue' if begins - since <= 30000 else self.late()] += b - a
            return
        made, waited, cause = min(begins, call[1]), 0, None
        host = made - since
        if call[0] > since:
            loading = sum(max(0, min(e, made) - max(s, since)) for s, e in self.loads)
            if 2 * loading > host:
                cause = 'data'
            else:
                waited = max((e - s for s, e in self.syncs if s < since <= e <= call[0]), default=0)
                waited = min(waited, (made if begins - call[1] > 30000 else begins) - since)
        cause = cause or ('launch' if host - waited <= 100000 else 'setup' if self.is_setup(since + waited, made) else 'host')
        ends = call[1] if begins - call[1] > 30000 else b
        for use, first, last in (('sync', since, since + waited), (cause, since + waited, ends), (self.late(), ends, b)):
            ns = max(0, min(last, b) - max(first, a))
            out[use] += ns
            if use == 'launch':
                recorded = sum(max(0, min(e, last, b) - max(s, first, a)) for s, e in self.recorded(work[2][2], max(first, a), min(last, b)))
                out['recording'] += recorded
                out['recording', work[4]] += recorded
            if use not in ('wait', 'unknown'):
                out[use, work[4]] += ns


# --- formulas of docs/reference/advice.md: the rate of a kernel, under 0 = not about it


def architecture(name):
    found = re.search(r'(?:^|_)sm(\d\d)|cutlass_?(?:tensorop_)?(\d\d)_', name)
    if found:
        return int(found[1] or found[2])
    return next((a for word, a in (('ampere', 80), ('turing', 75), ('volta', 70)) if name.startswith(word + '_')), 0)


def better(trace, g, is_better):
    rates = [o['flops'] * o['calls'] / o['ns'] for o in trace.groups
             if o['flops'] and o['class'] == g['class'] and o['dtype'] == g['dtype'] and is_better(o)]
    rate, best = g['flops'] * g['calls'] / g['ns'], max(rates, default=0)
    if best > rate:
        return 1 - rate / best
    roof = trace.roof(g)
    return 1 - roof / g['ns'] if g['ns'] > roof else NONE


def of_groups(chosen, rate):
    rates = {id(g): rate(g) for g in chosen}
    return lambda k: rates.get(id(k.get('group')), -1)


def size(g):
    text = g['name'] + (f" {g['batch']} of" if g['batch'] and g['batch'] > 1 and g['m'] else '')
    return text + (f" {g['m']} x {g['n']} x {g['k']}" if g['m'] else '') + ' ' + g['dtype']


def a3(trace, scope):
    aligned = lambda g: g['m'] and g['tensor'] != 'no' and not any(d > 1 and d * 2 % 16 for d in (g['n'], g['k']))
    return of_groups([g for g in trace.groups if size(g) == scope], lambda g: better(trace, g, aligned))


def a4(trace, scope):
    if not trace.peak:
        return None
    other = 'tf32' if trace.capability >= 8 and trace.peak['tf32'] > trace.peak['fp32'] else 'fp16'
    rate = 1 - trace.peak['fp32'] / trace.peak[other]
    is_product = lambda k: k['kind'] in ('gemm', 'conv') or re.search('gemm|dgrad|wgrad|implicit_conv|scudnn', k['name'])
    return lambda k: rate if k['tensor'] == 'no' and is_product(k) and re.search('sgemm|scudnn|<float|float,|f32f32_f32f32', k['name']) else -1


def a5(trace, scope):
    native = lambda o: o['tensor'] == 'yes' and architecture(o['longest']) >= 90
    old = [g for g in trace.groups if g['tensor'] == 'yes' and 0 < architecture(g['longest']) < 90 and g['class'] in ('gemm', 'conv')]
    return of_groups(old, lambda g: better(trace, g, native))


def a8(trace, scope):
    def rate(g):
        shapes = re.findall(r'_(\d+)x(\d+)(?:x\d+)?_', g['longest']) or re.findall(r'size(\d+)x(\d+)', g['longest'])
        tile = tuple(map(int, shapes[0]))
        filled = []
        for down, across in (tile, tile[::-1]):
            tiles = math.ceil(g['m'] / down) * math.ceil(g['n'] / across) * (g['batch'] or 1)
            waves = tiles / trace.sms
            filled.append(g['m'] * g['n'] / (math.ceil(g['m'] / down) * down * math.ceil(g['n'] / across) * across) *
                          (waves / math.ceil(waves) if 'plit' not in g['longest'] else 1))
        return 1 - max(filled)
    return of_groups([g for g in trace.groups if size(g) == scope], rate)


def a10(trace, scope, evidence):
    bandwidth = trace.peak['memory'] * 1e9
    def attained(g):
        passes = 5 / 3 if re.search('batch_norm.*backward', g['name']) else 1
        return passes * g['bytes'] * g['calls'] / (g['ns'] / 1e9)
    said = float(re.search(r'moves ([\d.,]+) of', evidence)[1].replace(',', ''))
    each, unit = re.search(r'([\d.]+) (µs|ms|s) per kernel', evidence).groups()
    scale = {'µs': 1e3, 'ms': 1e6, 's': 1e9}[unit]
    chosen = [g for g in trace.groups if g['name'] == scope and abs(attained(g) / 1e9 - said) <= 0.51 and
              f"{g['ns'] / len(g['kernels']) / scale:.3g}" == f'{float(each):.3g}']
    return of_groups(chosen, lambda g: 1 - attained(g) / bandwidth)


def a21(trace, scope):
    def rate(k):
        g = k.get('group')
        in_attention = re.search('attention', k['path'], re.I) if not trace.groups else k.get('attention')
        if not in_attention:
            return -1
        if k['kind'] != 'gemm' and not (g and g['class'] == 'gemm'):
            return 1
        roof = trace.roof(g) if g else math.nan
        return 0 if math.isnan(roof) else max(0, 1 - roof / g['ns'])
    return rate


def a22(trace, scope):
    products = [g for g in trace.groups if g['class'] in ('gemm', 'conv', 'attention')]
    saved = {id(g): (g['ns'] - trace.roof(g) / 0.6) / g['ns'] for g in products}
    return lambda k: saved.get(id(k.get('group')), -1) if saved.get(id(k.get('group')), -1) > 0 else -1


def a9(trace, scope):
    return lambda k: 1 if re.search('(nchw|nhwc)to(nchw|nhwc)|batched_transpose|ws_layout', k['name'], re.I) else -1


def a12(trace, scope):
    return lambda k: 1 if k['kind'] == 'cast' or 'float16_copy_kernel' in k['name'] else -1


def a27(trace, scope):
    """Blocks of all kernels that ran at the same time count: the mean over those of a configuration."""
    config = lambda k: (k['name'], k['stream'], k['blocks'], k['shape'])
    sums, ns = collections.defaultdict(float), collections.defaultdict(float)
    for k in trace.count:
        ns[config(k)] += k['ns']
        sums[config(k)] += sum(max(0, min(k['end'], o['end']) - max(k['start'], o['start'])) * o['blocks']
                               for o in trace.count if o['device'] == k['device'])

    def rate(k):
        running = sums[config(k)] / ns[config(k)] if ns[config(k)] else k['blocks']
        return 1 - running / trace.sms if trace.sms and k['blocks'] and running < trace.sms and k['kind'] != 'comm' else -1
    return rate


# those that need no operation of a framework, which alone this program groups
OF_NAMES = ('A4', 'A9', 'A12', 'A21', 'A27')
FORMULAS = {'A3': a3, 'A4': a4, 'A5': a5, 'A8': a8, 'A9': a9, 'A10': a10, 'A12': a12, 'A21': a21, 'A22': a22, 'A27': a27}


CHANGES = {'A23': 'no_stream_waits', 'A24': 'no_queue_gaps'}
WAITS = {'A1': ('launch', 'as_graph'), 'A16': ('data', 'no_data_waits'), 'A19': ('sync', 'no_syncs'), 'A20': ('host', 'no_host_gaps'),
         'A25': ('start', 'no_late_start'), 'A26': ('end', 'no_late_end')}


def by_hand(trace):
    """(finding, gain) of those with a gain; that of a wait is at most the wait."""
    for row, gain in replayed(trace):
        if gain is not None and row['Rule'] in USE_OF:
            gain = trace.at_most_the_wait(gain, USE_OF[row['Rule']], row['Scope'])
        yield row, gain


def replayed(trace):
    """(finding, gain) of those with a gain; kernels count for what is told first."""
    replay, taken = trace.replay(), set()
    if not replay.is_sound():  # then gains are upper bounds
        yield from ((row, None) for row in trace.advice if row['Est. Gain (ns)'])
        return
    piece_of = {p['row']: i for i, p in enumerate(replay.pieces) if p['is_kernel']}
    order = sorted(trace.advice, key=lambda r: ('strong weak hint'.split().index(r['Severity']), -float(r['Est. Gain (ns)'] or -1)))
    for row in order:
        rule = row['Rule']
        if not row['Est. Gain (ns)']:
            continue
        if rule in ('A17', 'A18'):
            use = 'comm' if rule == 'A17' else 'copy'
            yield row, replay.gain({'ns': {i: 0 for i, p in enumerate(replay.pieces) if p['use'] == use}})
        elif rule == 'A1' and row['Scope'] != 'whole run':
            yield row, trace.without_recording(replay.gain({'as_graph': True, 'graph_path': row['Scope']}), 'launch', row['Scope'])
        elif rule in WAITS:
            use, change = WAITS[rule]
            yield row, trace.without_recording(replay.gain({change: True}), use)
        elif rule in CHANGES:
            yield row, replay.gain({CHANGES[rule]: True})
        elif rule in ('A29', 'A30') or rule == 'A27' and row['Scope'] == 'blocks of few threads':
            yield row, None  # upper bounds
        elif rule in FORMULAS and (trace.groups or rule in OF_NAMES):
            rate = FORMULAS[rule](trace, row['Scope'], *([row['Evidence']] if rule == 'A10' else []))
            ns, about = {}, 0
            for i, k in enumerate(trace.kernels):
                r = rate(k)
                if r < 0:
                    continue
                about += k['ns']
                if i in taken:
                    continue
                taken.add(i)
                if i in piece_of and not math.isnan(r):
                    ns[piece_of[i]] = k['ns'] * (1 - min(r, 1))
            assert float(row['Est. Gain (ns)']) <= about * (1 + 1e-9), f'{rule} gains more than its kernels took'
            yield row, replay.gain({'ns': ns})
        else:
            yield row, None


def read_devices(path):
    names = 'fp32 tf32 fp16 bf16 fp8 memory'.split()
    for line in open(path, encoding='utf-8'):
        if line.startswith('| `'):
            cells = [c.strip() for c in line.strip().strip('|').split('|')]
            yield cells[0].strip('`'), {n: float(c) for n, c in zip(names, cells[1:]) if c}


def main(warpsheet, devices, folder, traces):
    if not os.path.isdir(folder):
        print('SKIP: no folder', folder)
        return 77
    devices, wrong, compared = list(read_devices(devices)), 0, 0
    print('| trace | rule | about | gain told (ms) | by hand (ms) |')
    print('|---|---|---|---|---|')
    with tempfile.TemporaryDirectory() as scratch:
        for name in traces:
            trace = Trace(warpsheet, os.path.join(folder, name), devices, scratch)
            for row, gain in by_hand(trace):
                told = float(row['Est. Gain (ns)'])
                ok = gain is not None and abs(told - gain) <= 1e-6 * max(told, 1)
                compared += ok
                wrong += gain is not None and not ok
                print(f"| {os.path.basename(name).split('.')[0]} | {row['Rule']} | {row['Scope']} | {told / 1e6:.6f} | "
                      f"{'not worked out' if gain is None else f'{gain / 1e6:.6f}'}{'' if ok or gain is None else ' WRONG'} |")
    return 1 if wrong or not compared else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]))
