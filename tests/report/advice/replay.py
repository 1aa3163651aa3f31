"""The replay of a step, written a second time: docs/dev/replay.md, from the rows of an export to SQLite."""
import bisect
import math
import statistics

QUIET, BESIDE, DEEP, LAUNCH, QUEUE, SKEW = 50000, 20000, 256, 100000, 30000, 1000000
CYCLES, SETTLED = 8, 4


class Point:
    def __init__(self, at, thread, call, is_end):
        self.at, self.thread, self.call, self.is_end = at, thread, call, is_end
        self.anchor = self.waits = self.hidden = None
        self.waits_once, self.idle = False, 0


class Replay:
    """pieces: dicts with start, ns, stream, call (a key of calls or None), use, in_step; calls: key -> (start, end, thread, blocks)."""

    def __init__(self, pieces, calls, loads, setup, window, step, between, path_of_call):
        self.path_of_call = path_of_call
        self.window, self.step, self.between = window, step, between
        self.start, self.end = (step[0], step[1]) if step else window
        self.free = {}
        for p in pieces:
            if not p['in_step'] and p['start'] < window[0]:
                self.free[p['stream']] = max(self.free.get(p['stream'], -math.inf), p['start'] + p['ns'])
        self.pieces = sorted((p for p in pieces if p['in_step']), key=lambda p: (p['start'], not p['is_kernel'], p['row']))
        threads = {calls[p['call']][2] for p in self.pieces if p['call'] is not None}
        if not step:
            self.start = min([self.start] + [calls[p['call']][0] for p in self.pieces if p['call'] is not None])
        self.has_earlier = bool(self.free)
        self.has_later = bool(step) and any(p['start'] >= window[1] for p in pieces)
        self.points = []
        for key, (start, end, thread, _) in calls.items():
            if (thread in threads or step and thread == step[2]) and self.start <= start <= self.end:
                self.points.append(Point(start, thread, key, False))
                if not step or end <= self.end or thread == step[2]:
                    self.points.append(Point(min(end, self.end) if step else end, thread, key, True))
        if step:
            self.points.append(Point(self.end, step[2], None, True))
        self.points.sort(key=lambda q: (q.at, q.thread, q.is_end))
        begin = {q.call: i for i, q in reversed(list(enumerate(self.points))) if not q.is_end}
        last = {}
        for i, p in enumerate(self.pieces):
            p['launch'], p['before'], p['beside'] = begin.get(p['call']) if p['call'] is not None else None, last.get(p['stream']), None
            last[p['stream']] = i
        self.by_end = sorted(range(len(self.pieces)), key=lambda i: (self.piece_end(i), i))
        self.ends = [self.piece_end(i) for i in self.by_end]
        self.turn_back(self.skew(calls))
        self.time_pieces()
        self.link_points(calls, loads, setup)
        self.first_launch = min((p['launch'] for p in self.pieces if p['launch'] is not None), default=None)
        self.last_end = self.ends[-1]
        self.order()
        self.period = self.play({})
        self.recorded = window[1] - window[0]

    def piece_end(self, i):
        return self.pieces[i]['start'] + self.pieces[i]['ns']

    def skew(self, calls):
        """How far the clock of the device is ahead: calls that wait for it end before what they waited for."""
        busy, latest, opened, late = {}, -math.inf, {}, []
        for i, p in enumerate(self.pieces):
            if p['launch'] is not None:
                busy[p['launch']] = max(busy.get(p['launch'], -math.inf), self.piece_end(i))
        for i, q in enumerate(self.points):
            latest = max(latest, busy.get(i, -math.inf))
            if q.call is None or not calls[q.call][3]:
                continue
            if not q.is_end:
                opened[q.thread] = q.call, latest
            elif q.thread in opened and opened[q.thread][0] == q.call and opened[q.thread][1] > calls[q.call][0] and \
                    abs(q.at - opened[q.thread][1]) <= SKEW:
                late.append(q.at - opened[q.thread][1])
        late.sort()
        return -late[len(late) // 10] if late and statistics.median(late) < 0 else 0

    def turn_back(self, skew):
        """From here on times of the device are by the host's clock."""
        for p in self.pieces:
            p['start'] -= skew
        self.free = {stream: end - skew for stream, end in self.free.items()}
        self.ends = [end - skew for end in self.ends]

    def last_ended(self, after, until, launched, stream):
        for at in reversed(self.by_end[:bisect.bisect_right(self.ends, until)]):
            p = self.pieces[at]
            if self.piece_end(at) <= after:
                return None
            if p['stream'] != stream and p['start'] <= until and (p['launch'] is None or self.points[p['launch']].at <= launched):
                return at
        return None

    def time_pieces(self):
        free = [self.piece_end(p['before']) if p['before'] is not None else self.free.get(p['stream'], -math.inf) for p in self.pieces]
        call = [self.points[p['launch']].at if p['launch'] is not None else -math.inf for p in self.pieces]
        alone = [p['start'] - c for p, c, f in zip(self.pieces, call, free) if c > -math.inf and f <= c]
        self.latency = min(statistics.median(alone) if alone else 5000, QUEUE)
        queued = [max(0, p['start'] - f) for p, c, f in zip(self.pieces, call, free)
                  if f > -math.inf and f > c + self.latency and p['start'] - f <= QUEUE]
        self.queue_gap = statistics.median(queued) if queued else 1000
        for p, f in zip(self.pieces, free):
            if p['launch'] is not None and f > -math.inf and p['start'] - f <= LAUNCH:
                self.points[p['launch']].idle = max(self.points[p['launch']].idle, p['start'] - f)
        for p, c, f in zip(self.pieces, call, free):
            since_call, since_free = p['start'] - c, p['start'] - f
            was_queued = f > -math.inf and f > c and (since_free <= 2 * self.queue_gap or f > c + self.latency)
            p['latency'] = min(since_call, self.latency) if was_queued else since_call
            p['gap'] = since_free if was_queued else 0 if f == -math.inf else min(since_free, self.queue_gap)
            ready = f if c == -math.inf else c + self.latency
            if was_queued:
                ready = max(ready, f + self.queue_gap)
            if p['start'] - ready <= QUEUE:
                continue
            p['beside'] = self.last_ended(p['start'] - BESIDE, p['start'], p['start'], p['stream'])
            if p['beside'] is None and p['launch'] is not None:
                p['latency'], p['gap'] = min(p['latency'], self.latency), min(p['gap'], self.queue_gap)
                p['unknown'] = p['start'] - max(c + p['latency'], f + p['gap'])
            if p['beside'] is not None:
                p['beside_gap'] = p['start'] - self.piece_end(p['beside'])
                p['latency'], p['gap'] = min(p['latency'], self.latency), min(p['gap'], self.queue_gap)

    def link_points(self, calls, loads, setup):
        launches = sorted(p['launch'] for p in self.pieces if p['launch'] is not None)
        own, last, gaps = {}, None, []
        self.tail, self.pauses, self.ended = None, 0, []  # pauses of the host in which its work ended; (length, lag) of those that end with it
        for i, q in enumerate(self.points):
            since = self.points[own[q.thread]].at if q.thread in own else self.start
            q.anchor = own.get(q.thread)
            if not q.is_end and last is not None and q.at - since > QUIET and self.points[last].at > since and \
                    self.points[last].thread != q.thread:
                q.anchor, since = last, self.points[last].at
            if q.call is None:
                self.tail = i
            q.data = sum(max(0, min(e, q.at) - max(s, since)) for s, e in loads)
            if q.is_end and q.call is not None:
                begin, end, _, blocks = calls[q.call]
                waiting = bisect.bisect_left(launches, i) - bisect.bisect_right(self.ends, begin)
                if blocks or (end - begin > LAUNCH and waiting > DEEP):
                    q.waits = self.last_ended(begin, q.at, begin, None)
                if q.waits is None and (blocks == 'all' or blocks == 'stream' and len({p['stream'] for p in self.pieces} | set(self.free)) == 1):
                    q.waits = self.last_ended(-math.inf, q.at, begin, None)
                q.waits_once = any(s < q.at and e > begin for s, e in setup)
                if q.waits is not None:
                    since = max(since, self.piece_end(q.waits))
            q.gap = q.at - since
            q.setup = min(q.gap - q.data, sum(max(0, min(e, q.at) - max(s, since)) for s, e in setup))
            if 2 * q.setup > q.gap - q.data:
                q.setup = q.gap - q.data
            if not q.is_end or q.call is None:
                self.find_hidden_wait(q, since, bisect.bisect_left(launches, i))
            if q.waits is None and q.gap <= LAUNCH:
                gaps.append(q.gap)
            own[q.thread] = last = i
        self.launch_gap = statistics.median(gaps) if gaps else 1000

    def find_hidden_wait(self, q, since, launched):
        """May the host have waited without a call for what it had launched?"""
        gap = q.at - since
        if gap <= BESIDE or 2 * q.data > gap or launched > bisect.bisect_right(self.ends, q.at):
            return
        last = self.last_ended(since, q.at, since, None)
        if last is None:
            return
        self.pauses += 1
        q.lag = q.at - self.piece_end(last)
        if q.lag <= BESIDE and 10 * q.lag <= gap:
            q.hidden = last
            self.ended.append((gap, q.lag))

    def trust_hidden_waits(self, others):
        """By the pauses of all steps that are checked: then they are waits from here on."""
        ended = [e for r in [self] + others for e in r.ended]
        pauses = sum(r.pauses for r in [self] + others)
        spread = lambda v: sum(abs(x - statistics.median(v)) for x in v) / len(v)
        if not self.ended or len(ended) < 3 or 2 * len(ended) < pauses or \
                2 * spread([e[1] for e in ended]) >= spread([e[0] for e in ended]):
            return
        for q in self.points:
            if q.hidden is not None:
                q.waits, q.gap, q.data, q.setup = q.hidden, q.lag, 0, 0
        self.period = self.play({})

    def order(self):
        nodes, at_of = [(q.at, 2 if q.is_end else 0, i) for i, q in enumerate(self.points)], []
        for i, p in enumerate(self.pieces):
            at = max([p['start']] + ([self.points[p['launch']].at] if p['launch'] is not None else []) +
                     ([at_of[p['before']]] if p['before'] is not None else []))
            at_of.append(at)
            nodes.append((at, 1, len(self.points) + i))
        self.nodes = [n for _, _, n in sorted(nodes)]

    def gap(self, i, change):
        q = self.points[i]
        is_start = (self.first_launch is None or i <= self.first_launch) and not self.has_earlier
        is_end = q.at > self.last_end and not self.has_later
        is_cut = change.get('no_late_start' if is_start else 'no_late_end' if is_end else 'no_host_gaps')
        kept = q.gap - q.data - q.setup
        if kept > LAUNCH and is_cut:
            kept = self.launch_gap
        path = change.get('graph_path')
        if change.get('as_graph') and (path is None or self.is_in_path(q, path)):
            kept -= min(q.idle, kept) if kept > LAUNCH else kept
        return kept + q.setup + (0 if change.get('no_data_waits') else q.data)

    def is_in_path(self, q, path):
        """Was the call made in a range of this path?"""
        path_of = self.path_of_call(q.call) if q.call is not None else ''
        return (path_of + '/').startswith(path + '/')

    def once(self, change, base, free):
        at, begin, done = [0] * len(self.points), [0] * len(self.pieces), [0] * len(self.pieces)
        for n in self.nodes:
            if n < len(self.points):
                q = self.points[n]
                t = base if q.anchor is None else at[q.anchor]
                if q.waits is not None and (q.waits_once or not change.get('no_syncs')):
                    t = max(t, done[q.waits])
                at[n] = t + self.gap(n, change)
                continue
            i = n - len(self.points)
            p = self.pieces[i]
            gap = 0 if change.get('no_queue_gaps') and p['gap'] <= QUEUE else p['gap']
            if change.get('no_stream_waits') and gap > QUEUE:
                gap = self.queue_gap
            t = max([-math.inf] + ([at[p['launch']] + p['latency']] if p['launch'] is not None else []))
            t = max(t, (free.get(p['stream'], -math.inf) if p['before'] is None else done[p['before']]) + gap)
            if p['beside'] is not None and not change.get('no_stream_waits'):
                t = max(t, done[p['beside']] + p['beside_gap'])
            t += 0 if change.get('no_stream_waits') else p.get('unknown', 0)
            if t == -math.inf:
                t = base + p['start'] - self.start
            begin[i], done[i] = t, t + change.get('ns', {}).get(i, p['ns'])
            free[p['stream']] = done[i]
        end = max(done + ([at[self.tail]] if self.tail is not None else []))
        return end, at[self.tail] if self.tail is not None else None, min(begin)

    def play(self, change):
        free = {s: f - self.start for s, f in self.free.items()}
        end, tail, begin = self.once(change, 0, free)
        if self.tail is None:
            return end - begin
        for _ in range(2):
            for cycle in range(1, CYCLES):
                if cycle == CYCLES - SETTLED:
                    settled, queued = end, end - tail
                end, tail, _ = self.once(change, tail + self.between, free)
            if queued - (end - tail) <= 0.005 * (end - settled) / SETTLED:
                break
            # the device catches up with the host: what was queued will be gone
            for stream in free:
                free[stream] = min(free[stream], tail + self.between)
            end, tail, _ = self.once(change, tail + self.between, free)
        return (end - settled) / SETTLED

    def is_sound(self):
        device = sum(p['ns'] for p in self.pieces)
        return sum(p['ns'] for p in self.pieces if p['launch'] is None) <= 0.10 * device

    def gain(self, change):
        return min(max(0, self.period - self.play(change)), self.recorded)
