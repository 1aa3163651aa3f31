-- The rows of an export, joined as docs/reference/tables.md says: "How kernels find their range", "Steps and
-- phases". oracle.py makes steady(), the tables operation and kernel_name, and those that an export
-- lacks, empty.

-- Calls of the API.
CREATE TEMP TABLE call (id INTEGER PRIMARY KEY, start, end, thread, process, correlation, name, result,
	range, op, step);
INSERT INTO call (start, end, thread, process, correlation, name, result)
SELECT start, end, globalTid, globalTid & ~0xffffff, correlationId, value, returnValue
FROM CUPTI_ACTIVITY_KIND_RUNTIME JOIN StringIds s ON s.id = nameId ORDER BY start;
CREATE INDEX temp.call_of ON call (process, correlation, start);

-- All of the trace: what never ended ends with it.
CREATE TEMP TABLE span AS
SELECT min(start) AS first, max(end) AS last FROM (
	SELECT start, end FROM CUPTI_ACTIVITY_KIND_KERNEL
	UNION ALL SELECT start, end FROM call
	UNION ALL SELECT start, coalesce(end, start) FROM NVTX_EVENTS WHERE eventType != 75
	UNION ALL SELECT start, end FROM CUPTI_ACTIVITY_KIND_MEMCPY
	UNION ALL SELECT start, end FROM CUPTI_ACTIVITY_KIND_MEMSET
	UNION ALL SELECT start, end FROM CUPTI_ACTIVITY_KIND_GRAPH_TRACE
	UNION ALL SELECT start, start FROM CUDA_GPU_MEMORY_USAGE_EVENTS
	UNION ALL SELECT start_ns, start_ns + dur_ns FROM WARPSHEET_cpu_op
	UNION ALL SELECT start_ns, start_ns + dur_ns FROM WARPSHEET_python_call WHERE module >= 0);

-- NVTX ranges and PyTorch's modules, of each thread as they began. The parent is the range that
-- holds it and began last. `longest` only bounds where a range is looked for.
CREATE TEMP TABLE domain AS SELECT domainId AS id, text FROM NVTX_EVENTS WHERE eventType = 75;
CREATE TEMP TABLE range (id INTEGER PRIMARY KEY, event, start, end, is_open, style, thread, process,
	domain, name, parent);
INSERT INTO range (event, start, end, is_open, style, thread, process, domain, name)
SELECT * FROM (SELECT eventId, start, coalesce(end, (SELECT last FROM span)), end IS NULL,
       iif(eventType = 60, 'StartEnd', 'PushPop'), globalTid, globalTid & ~0xffffff,
       coalesce((SELECT text FROM domain d WHERE d.id = domainId), ''),
       steady(text)
FROM NVTX_EVENTS n WHERE eventType IN (59, 60)
UNION ALL
SELECT NULL, start_ns, start_ns + dur_ns, 0, 'PushPop', thread, thread & ~0xffffff, 'pytorch.module',
       steady(replace(value, 'nn.Module: ', ''))
FROM WARPSHEET_python_call JOIN StringIds s ON s.id = name WHERE module >= 0)
ORDER BY 6, 2, 1 IS NULL, 1, 3 DESC;
CREATE INDEX temp.range_of ON range (thread, start);
UPDATE range SET parent = (
	SELECT p.id FROM range p
	WHERE p.thread = range.thread AND p.start >= range.start - ns AND p.start <= range.start AND p.id < range.id
	AND p.end >= range.end ORDER BY p.start DESC, p.id DESC LIMIT 1)
FROM (SELECT max(end - start) AS ns FROM range) AS longest;
CREATE INDEX temp.range_in ON range (parent);

-- What a range has from those around it: path, outermost step, warm-up and phase, innermost operation.
CREATE TEMP TABLE label (range INTEGER PRIMARY KEY, path, key, step, warm_up, is_setup, phase, op, is_softmax);
CREATE TEMP TABLE own AS
SELECT r.*, replace(name, '/', '\/') AS text,
       name || char(1) || domain || char(1) || style AS element,
       iif(name = 'step' OR name GLOB 'ProfilerStep#*' OR name GLOB 'step[[]* bs=*' OR name GLOB 'execute_*context_*generation_*'
           OR name GLOB 'execute_new_*_cached_*' OR name GLOB 'prefill[[]bs=*' OR name GLOB 'decode[[]bs=*'
           OR name = '[pl][profile]run_training_batch', r.id, NULL) AS is_step,
       iif(name REGEXP '(?i)(^|\|)[-_ #:.\[\]]*warm[-_ #:.\[\]]*up[-_ #:.\[\]]*((step|run|iter|iteration)s?|phase|loop|epoch|batch)?[-_ #:.0-9\[\]]*($|\|)', r.id, NULL) AS is_warm_up,
       CASE WHEN name IN ('forward', 'loss', 'backward', 'optimizer') THEN name
            WHEN name LIKE 'Optimizer.step#%' THEN 'optimizer'
            WHEN name GLOB '[[]pl][[]profile]*training_step' THEN 'forward'
            WHEN name GLOB '[[]pl][[]profile]*.backward' THEN 'backward' END AS own_phase,
       (SELECT o.event FROM operation o WHERE o.event = r.event) AS is_op
FROM range r;
CREATE INDEX temp.own_in ON own (parent);
INSERT INTO label
WITH RECURSIVE tree (id, path, key, step, warm_up, is_setup, phase, op, is_softmax) AS (
	SELECT id, text, element, is_step, is_warm_up, name = 'setup', own_phase, iif(is_op, id, NULL),
	       name LIKE 'computing softmax%'
	FROM own WHERE parent IS NULL
	UNION ALL
	SELECT o.id, t.path || '/' || o.text, t.key || char(2) || o.element, coalesce(t.step, o.is_step),
	       coalesce(t.warm_up, o.is_warm_up), t.is_setup OR o.name = 'setup', iif(t.phase = 'optimizer', coalesce(o.own_phase, t.phase), coalesce(t.phase, o.own_phase)),
	       iif(o.is_op, o.id, t.op), t.is_softmax OR o.name LIKE 'computing softmax%'
	FROM tree t JOIN own o ON o.parent = t.id)
SELECT * FROM tree;
CREATE TEMP TABLE warm_up_with_steps AS SELECT DISTINCT warm_up FROM label WHERE step = range AND warm_up;
UPDATE label SET step = warm_up
WHERE step IS NULL AND warm_up NOT IN (SELECT warm_up FROM warm_up_with_steps);

-- Steps: number is the framework's own, else the place among those of its sort.
CREATE TEMP TABLE step AS
SELECT id, start, end, is_open, thread, process, is_warm_up, is_step, 0 AS by_marks, name LIKE 'ProfilerStep#%' AS is_pytorch,
       iif(name LIKE 'ProfilerStep#%', CAST(substr(recorded, 14) AS INTEGER), position) AS number
FROM (
	SELECT r.*, (SELECT text FROM NVTX_EVENTS WHERE eventId = event) AS recorded,
	       warm_up IS NOT NULL AS is_warm_up, id NOT IN (SELECT is_warm_up FROM own WHERE is_warm_up) AS is_step,
	       row_number() OVER (PARTITION BY warm_up IS NOT NULL ORDER BY start, r.id) - 1 AS position
	FROM label JOIN range r ON r.id = range WHERE step = range);

-- A framework's operations; of what lies in another, the one that began last is innermost.
CREATE TEMP TABLE op (id INTEGER PRIMARY KEY, start, end, thread, process, external_id, sequence, forward_thread,
	config, parent, forward, range);
INSERT INTO op (start, end, thread, process, external_id, sequence, forward_thread, config)
SELECT start_ns, start_ns + dur_ns, thread, thread & ~0xffffff, external_id, sequence, forward_thread, config
FROM WARPSHEET_cpu_op ORDER BY thread, start_ns, dur_ns DESC;
CREATE INDEX temp.op_of ON op (thread, start);
CREATE INDEX temp.op_sequence ON op (sequence);
CREATE INDEX temp.op_named ON op (external_id);
-- The thread of a forward thread's number: where most of the forward operations began before their backward, else the
-- one that runs them. (Of two such numbers that share two threads nothing is known here.)
CREATE TEMP TABLE numbered AS
SELECT number, process, thread FROM (
	SELECT number, process, thread, n, max(n) OVER (PARTITION BY number, process) AS most,
	       row_number() OVER (PARTITION BY number, process ORDER BY n DESC, thread <> runs) AS place,
	       count(*) OVER (PARTITION BY number, process, n) AS alike, runs
	FROM (SELECT b.forward_thread AS number, b.process, f.thread, count(*) AS n, (
	             SELECT thread FROM op o WHERE o.forward_thread = b.forward_thread AND o.process = b.process AND sequence >= 0
	             ORDER BY id LIMIT 1) AS runs
	      FROM op b JOIN (SELECT max(id) AS id, sequence, thread, process FROM op WHERE NOT forward_thread AND sequence >= 0
	                      GROUP BY sequence, thread) f USING (sequence, process) JOIN op last ON last.id = f.id
	      WHERE b.forward_thread AND last.start <= b.start GROUP BY b.forward_thread, b.process, f.thread))
WHERE n = most AND place = 1 AND (alike = 1 OR thread = runs);
UPDATE op SET parent = (
	SELECT p.id FROM op p
	WHERE p.thread = op.thread AND p.start >= op.start - ns AND p.start <= op.start AND p.id < op.id
	AND p.end >= op.end ORDER BY p.start DESC, p.id DESC LIMIT 1),
	range = (
	SELECT r.id FROM range r WHERE r.thread = op.thread AND r.start <= op.start AND r.end >= op.end
	ORDER BY r.start DESC, r.id DESC LIMIT 1),
	forward = CASE WHEN EXISTS (SELECT 1 FROM WARPSHEET_flow) THEN (
		SELECT f.id FROM WARPSHEET_flow JOIN op f ON f.thread = from_thread AND f.start = from_ns
		WHERE to_thread = op.thread AND to_ns = op.start
		AND op.id = (SELECT min(id) FROM op o WHERE o.thread = to_thread AND o.start = to_ns)
		ORDER BY WARPSHEET_flow.rowid DESC, f.id LIMIT 1)
	WHEN forward_thread AND sequence >= 0 THEN (
		SELECT max(f.id) FROM op f WHERE f.sequence = op.sequence AND NOT f.forward_thread
		AND f.thread = (SELECT thread FROM numbered n WHERE number = op.forward_thread AND n.process = op.process)) END
FROM (SELECT max(end - start) AS ns FROM op) AS longest;
CREATE INDEX temp.op_in ON op (parent);
CREATE TEMP TABLE inherited (id INTEGER PRIMARY KEY, forward);
INSERT INTO inherited
WITH RECURSIVE down (id, forward) AS (
	SELECT id, forward FROM op WHERE parent IS NULL
	UNION ALL SELECT o.id, coalesce(o.forward, d.forward) FROM down d JOIN op o ON o.parent = d.id)
SELECT * FROM down;
UPDATE op SET forward = (SELECT forward FROM inherited i WHERE i.id = op.id);

-- One batch of a server is no step.
DELETE FROM step WHERE NOT is_warm_up AND (SELECT count(*) FROM step WHERE NOT is_warm_up) = 1
AND (SELECT name FROM range r WHERE r.id = step.id) != 'step' AND NOT is_pytorch;
UPDATE label SET step = NULL WHERE step NOT IN (SELECT id FROM step);
-- Without steps these are the times to the end of an optimizer's step, the outermost of those in each other.
CREATE TEMP TABLE mark AS
SELECT *, name GLOB 'Optimizer.step#*' AS steps, name GLOB 'enumerate(DataLoader)#*' OR name GLOB 'enumerate(DataPipe)#*' AS loads
FROM range WHERE NOT is_open AND (name GLOB 'Optimizer.*' OR name GLOB 'enumerate(*')
AND (name GLOB 'Optimizer.step#*' OR name GLOB 'Optimizer.zero_grad#*' OR name GLOB 'enumerate(DataLoader)#*' OR name GLOB 'enumerate(DataPipe)#*')
AND NOT EXISTS (SELECT 1 FROM step WHERE NOT is_warm_up);
DELETE FROM mark WHERE steps AND EXISTS (
	SELECT 1 FROM mark o WHERE o.steps AND o.thread = mark.thread AND o.id < mark.id AND o.end >= mark.end);
CREATE TEMP TABLE backward AS
SELECT o.thread, o.start FROM op o LEFT JOIN WARPSHEET_op_config w ON w.id = o.config LEFT JOIN StringIds s ON s.id = w.name
WHERE o.forward OR s.value GLOB 'autograd::engine::evaluate_function: *';
CREATE TEMP TABLE turn AS
SELECT t.*, iif(EXISTS (SELECT 1 FROM backward),
                (SELECT count(*) FROM backward o WHERE o.start < t.end AND o.start >= coalesce(before, o.start)),
                (SELECT count(*) FROM op o WHERE o.thread = t.thread AND o.start < t.end AND o.start >= coalesce(before, o.start))) AS ops,
       n < turns AND EXISTS (SELECT 1 FROM mark l WHERE l.loads AND l.thread = t.thread AND l.start >= t.end AND l.start < next) AS is_last
FROM (SELECT id, name, start, end, thread, process, row_number() OVER w AS n, count(*) OVER (PARTITION BY thread) AS turns,
             lag(end) OVER w AS before, lead(start) OVER w AS next
      FROM mark WHERE steps WINDOW w AS (PARTITION BY thread ORDER BY end)) t;
-- One ends before the next batch is asked for; behind the last batch where as many turns were taken as before.
CREATE TEMP TABLE batched AS
SELECT thread, max(n) AS last, coalesce((SELECT max(n) FROM turn b WHERE b.thread = t.thread AND is_last AND n < max(t.n)), 0) AS before
FROM turn t WHERE is_last GROUP BY thread;
UPDATE turn SET is_last = 1 WHERE n = turns AND EXISTS (SELECT 1 FROM batched b WHERE b.thread = turn.thread AND turns - b.last >= b.last - b.before);
-- Else optimizers take turns: each is as the one a period before by its name and, at best, by the operations that lead to it: of backward, if any is known.
WITH RECURSIVE c (c) AS (SELECT 1 UNION ALL SELECT c + 1 FROM c WHERE c < 16
), period AS (
	SELECT t.thread, c, by_ops FROM c JOIN (SELECT 1 AS by_ops UNION SELECT 0) JOIN turn t JOIN turn b ON b.thread = t.thread AND b.n = t.n - c
	WHERE 2 * c <= t.turns AND NOT (by_ops AND t.n <= 2 * c AND t.turns > 2 * c)
	GROUP BY 1, 2, 3
	HAVING 10 * sum(t.name = b.name AND (NOT by_ops OR abs(t.ops - b.ops) * 20 <= max(t.ops, b.ops))) >= 9 * count(*)
), best AS (SELECT thread, c, row_number() OVER (PARTITION BY thread ORDER BY by_ops DESC, c) AS place FROM period)
UPDATE turn SET is_last = n % coalesce((SELECT c FROM best b WHERE b.thread = turn.thread AND place = 1), 1) = 0
WHERE thread NOT IN (SELECT thread FROM batched);
CREATE TEMP TABLE iteration AS
SELECT t.*, row_number() OVER w AS place, lag(end) OVER w AS since, lead(start) OVER w AS second
FROM turn t WHERE is_last AND thread IN (SELECT thread FROM turn WHERE is_last GROUP BY thread HAVING count(*) > 1)
WINDOW w AS (PARTITION BY thread ORDER BY n);
-- The first begins with as many batches as the second has, else with the first mark or operation of its thread. PyTorch
-- gives no time to what was open when it stopped.
INSERT INTO step
SELECT -id, begin, end, 0, thread, process, 0, 1, 1, 0, row_number() OVER (ORDER BY begin, thread) - 1
FROM (SELECT id, thread, process, coalesce(since, (
	SELECT start FROM (SELECT start, row_number() OVER (ORDER BY start) AS k, count(*) FILTER (WHERE start < i.start) OVER () AS own,
	                          count(*) FILTER (WHERE start < i.second) OVER () AS both FROM mark l WHERE l.loads AND l.thread = i.thread)
	WHERE own AND both > own AND k = max(own - (both - own), 0) + 1),
	min(coalesce((SELECT min(start) FROM op o WHERE o.thread = i.thread), i.start), (SELECT min(start) FROM mark m WHERE m.thread = i.thread))) AS begin,
	iif(n = turns AND start = end, coalesce((SELECT max(o.end) FROM op o WHERE o.thread = i.thread AND o.start >= i.start), end), end) AS end
FROM iteration i);

-- A step of training that asks models for more than most do, without a backward, contains an evaluation, and is not measured.
-- Calls are of root modules, or outermost products where no modules are recorded; what backward computes again is none.
CREATE TEMP TABLE root_call AS
WITH product AS (
	SELECT o.id, o.parent, o.thread, o.start, o.end, steady(s.value) AS name FROM op o JOIN op_config c ON c.id = o.config
	JOIN WARPSHEET_op_config w ON w.id = o.config JOIN StringIds s ON s.id = w.name WHERE c.kind IN ('gemm', 'conv', 'attention')
), called AS (
	SELECT id, thread, start, end, name FROM range r WHERE domain = 'pytorch.module' AND NOT EXISTS (
		SELECT 1 FROM range o WHERE o.domain = r.domain AND o.thread = r.thread AND o.id < r.id AND o.start <= r.start AND o.end >= r.end)
	UNION ALL
	SELECT id, thread, start, end, name FROM product WHERE parent NOT IN (SELECT id FROM product) OR parent IS NULL
)
SELECT *, EXISTS (SELECT 1 FROM op o WHERE o.thread = c.thread AND o.start >= c.start AND o.start < c.end
                  AND o.id IN (SELECT forward FROM op WHERE forward)) AS has_backward,
       (SELECT s.id FROM step s WHERE s.thread = c.thread AND s.start <= c.start AND s.end >= c.end AND NOT is_warm_up AND NOT is_open) AS step
FROM called c WHERE NOT EXISTS (
	SELECT 1 FROM op o LEFT JOIN WARPSHEET_op_config w ON w.id = o.config LEFT JOIN StringIds s ON s.id = w.name
	WHERE o.thread = c.thread AND o.start <= c.start AND o.end >= c.end
	AND (o.forward OR s.value GLOB 'autograd::engine::evaluate_function: *'))
AND ((SELECT count(*) FROM range WHERE domain = 'pytorch.module') = 0 OR c.id IN (SELECT id FROM range WHERE domain = 'pytorch.module'));
CREATE TEMP TABLE apart AS
WITH asked AS (
	SELECT *, row_number() OVER (PARTITION BY step, name ORDER BY start) AS n FROM root_call WHERE step AND NOT has_backward
), counts AS (
	SELECT s.thread, s.id AS step, a.name, (SELECT count(*) FROM asked k WHERE k.step = s.id AND k.name = a.name) AS calls
	FROM step s JOIN (SELECT DISTINCT thread, name FROM asked) a ON a.thread = s.thread WHERE NOT is_warm_up AND NOT is_open
), usual AS (
	SELECT thread, name, calls FROM (
		SELECT *, row_number() OVER w AS n, count(*) OVER (PARTITION BY thread, name) AS steps FROM counts
		WINDOW w AS (PARTITION BY thread, name ORDER BY calls)) WHERE n = (steps - 1) / 2 + 1
), typical AS (
	SELECT thread, ns FROM (
		SELECT thread, end - start AS ns, row_number() OVER (PARTITION BY thread ORDER BY end - start) AS n,
		       count(*) OVER (PARTITION BY thread) AS steps FROM step WHERE NOT is_warm_up AND NOT is_open) WHERE n = (steps - 1) / 2 + 1
)
, kept AS (
	SELECT k.*, t.ns, lag(k.end) OVER (PARTITION BY k.step ORDER BY k.start) AS since
	FROM asked k JOIN counts c ON c.step = k.step AND c.name = k.name JOIN usual u ON u.thread = k.thread AND u.name = k.name
	JOIN typical t ON t.thread = k.thread
	WHERE c.calls > 2 * u.calls AND k.n <= c.calls - u.calls AND EXISTS (SELECT 1 FROM root_call WHERE has_backward)
)
-- with what is between two calls, unless that trains
SELECT step FROM kept k
GROUP BY step HAVING 100 * sum(end - iif(since IS NULL OR EXISTS (
	SELECT 1 FROM backward b WHERE b.thread = k.thread AND b.start >= since AND b.start < k.start) OR EXISTS (
	SELECT 1 FROM op o WHERE o.thread = k.thread AND o.start >= since AND o.start < k.start
	AND o.id IN (SELECT forward FROM op WHERE forward)), start, since)) >= 5 * ns;
UPDATE step SET is_open = 1 WHERE id IN (SELECT step FROM apart);

-- Innermost range and operation of each call; its step is that of its range, or the one of its
-- process in whose time it lies.
UPDATE call SET
	range = (
	SELECT r.id FROM range r
	WHERE r.thread = call.thread AND r.start >= call.start - range_ns AND r.start <= call.start AND r.end >= call.end
	ORDER BY r.start DESC, r.id DESC LIMIT 1),
	op = (
	SELECT o.id FROM op o
	WHERE o.thread = call.thread AND o.start >= call.start - op_ns AND o.start <= call.start AND o.end >= call.end
	ORDER BY o.start DESC, o.id DESC LIMIT 1)
FROM (SELECT coalesce((SELECT max(end - start) FROM range), 0) AS range_ns,
             coalesce((SELECT max(end - start) FROM op), 0) AS op_ns) AS longest;
CREATE TEMP VIEW step_around AS
SELECT c.id AS call, coalesce(l.step, iif(l.warm_up IS NULL, (
	SELECT s.id FROM step s
	WHERE is_step AND s.process = c.process AND s.start <= c.start AND s.end >= c.end
	ORDER BY s.start DESC, s.id DESC LIMIT 1), NULL)) AS step
FROM call c LEFT JOIN label l ON l.range = c.range;
UPDATE call SET step = (SELECT step FROM step_around WHERE call = id);

-- Device work with its call: the last with its id that began before it, else the first after. Its
-- operation is the one that a link names, else the one around the call; what lies in no range, and
-- is backward, has the range of its forward operation.
CREATE TEMP TABLE maker AS
SELECT iif(EXISTS (SELECT 1 FROM call WHERE name LIKE 'hip%') OR EXISTS (
	SELECT 1 FROM WARPSHEET_device d JOIN StringIds s ON s.id = d.name WHERE value LIKE 'AMD%'), 'HIP', 'CUDA') AS maker;
CREATE TEMP TABLE work (id INTEGER PRIMARY KEY, sort, start, end, device, stream, process, correlation,
	row, bytes, call, range, op, step);
INSERT INTO work (sort, start, end, device, stream, process, correlation, row, bytes)
SELECT 'kernel', start, end, deviceId, streamId, globalPid, correlationId, rowid, NULL FROM CUPTI_ACTIVITY_KIND_KERNEL
UNION ALL
SELECT (SELECT '[' || maker || ' memcpy ' || label || ']' FROM ENUM_CUDA_MEMCPY_OPER WHERE id = copyKind), start, end, deviceId, streamId,
       globalPid, correlationId, m.rowid, bytes FROM CUPTI_ACTIVITY_KIND_MEMCPY m JOIN maker
UNION ALL
SELECT '[' || maker || ' memset]', start, end, deviceId, streamId, globalPid, correlationId, m.rowid, bytes FROM CUPTI_ACTIVITY_KIND_MEMSET m JOIN maker
UNION ALL
SELECT 'graph', start, end, deviceId, streamId, globalPid, correlationId, rowid, NULL FROM CUPTI_ACTIVITY_KIND_GRAPH_TRACE
ORDER BY 4, 2;
UPDATE work SET call = coalesce((
	SELECT id FROM call c WHERE c.process = work.process AND c.correlation = work.correlation AND c.start <= work.start
	ORDER BY c.start DESC, c.id DESC LIMIT 1), (
	SELECT id FROM call c WHERE c.process = work.process AND c.correlation = work.correlation ORDER BY c.start, c.id LIMIT 1))
WHERE correlation;
CREATE TEMP TABLE link (correlation INTEGER PRIMARY KEY, op);
INSERT OR REPLACE INTO link
SELECT correlation, (SELECT max(o.id) FROM op o WHERE o.external_id = e.external_id) AS op
FROM WARPSHEET_external_link e WHERE kind = 3 AND e.external_id AND op NOTNULL ORDER BY e.rowid;
UPDATE work SET
	range = (SELECT range FROM call c WHERE c.id = work.call),
	op = coalesce((SELECT op FROM link l WHERE l.correlation = work.correlation AND l.correlation),
	              (SELECT op FROM call c WHERE c.id = work.call));
UPDATE work SET range = (SELECT f.range FROM op o JOIN op f ON f.id = o.forward WHERE o.id = work.op)
WHERE range IS NULL;
-- Start/end ranges hold what other threads of their process launch in them, too.
CREATE TEMP VIEW process_range AS
SELECT r.* FROM range r JOIN NVTX_EVENTS n ON n.eventId = r.event WHERE r.style = 'StartEnd' AND coalesce(n.rangeId, 0) >= 0;
UPDATE work SET range = (
	SELECT r.id FROM process_range r JOIN call c ON c.id = work.call
	WHERE r.process = c.process AND r.thread != c.thread AND r.start <= c.start AND r.end >= c.end
	ORDER BY r.start DESC, r.id DESC LIMIT 1)
WHERE range IS NULL;
UPDATE work SET step = coalesce(
	(SELECT step FROM label l WHERE l.range = work.range),
	iif((SELECT warm_up FROM label l WHERE l.range = work.range) IS NULL, (SELECT step FROM call c WHERE c.id = work.call), NULL));
UPDATE work SET range = step WHERE range IS NULL AND step > 0;
-- Recording began or ended in the measured steps at either end that launched no device work, where others did; and of
-- PyTorch's in the last one if it launched under 0.8 times what each of the others did. It began so in the first that
-- an optimizer's step ends.
CREATE TEMP TABLE work_of_step AS
SELECT s.id, s.is_pytorch, s.by_marks, count(w.id) AS works, row_number() OVER (ORDER BY s.start, s.thread, s.id) AS n
FROM step s LEFT JOIN work w ON w.step = s.id WHERE NOT is_warm_up AND NOT is_open GROUP BY s.id;
UPDATE step SET is_open = 1 WHERE id IN (
	SELECT id FROM work_of_step WHERE n > (SELECT max(n) FROM work_of_step WHERE works) OR n < (SELECT min(n) FROM work_of_step WHERE works)
	UNION SELECT id FROM work_of_step l WHERE n = (SELECT max(n) FROM work_of_step WHERE works) AND is_pytorch
	      AND works < 0.8 * (SELECT min(works) FROM work_of_step o WHERE o.n < l.n AND o.n >= (SELECT min(n) FROM work_of_step WHERE works))
	UNION SELECT id FROM work_of_step f WHERE n = (SELECT min(n) FROM work_of_step WHERE works) AND by_marks
	      AND works < 0.8 * (SELECT min(works) FROM work_of_step o WHERE o.n != f.n AND o.n <= (SELECT max(n) FROM work_of_step WHERE works)));
-- The part of the run that device work, calls and ranges belong to: --scope. A range on another thread
-- than the step may lie in its time, too.
CREATE TEMP TABLE part AS
WITH placed AS (
	SELECT 'work' AS sort, id, range, step FROM work
	UNION ALL SELECT 'call', id, range, step FROM call
	UNION ALL
	SELECT 'range', r.id, r.id, coalesce(l.step, iif(l.warm_up IS NULL, (
		SELECT s.id FROM step s
		WHERE is_step AND s.process = r.process AND (by_marks OR s.thread != r.thread) AND s.end >= r.end
		AND s.start <= r.start - (r.start = r.end) ORDER BY s.start DESC, s.id DESC LIMIT 1), NULL))
	FROM range r JOIN label l ON l.range = r.id)
SELECT p.sort, p.id, p.step, number, NOT is_warm_up AND NOT is_open AS is_measured, CASE
	WHEN s.id AND NOT is_warm_up THEN iif(is_open, 'outside', 'steps')
	WHEN s.id OR l.warm_up THEN 'warm-up'
	WHEN l.is_setup THEN 'setup'
	ELSE 'outside' END AS scope
FROM placed p LEFT JOIN step s ON s.id = p.step LEFT JOIN label l ON l.range = p.range;
CREATE INDEX temp.part_of ON part (sort, id);

-- Which ranges hold device work: those around its call, those around its range, and its step.
CREATE TEMP TABLE around AS
SELECT w.id AS work, r.id AS range FROM work w JOIN call c ON c.id = w.call
JOIN range r ON r.thread = c.thread AND r.start <= c.start AND r.end >= c.end
UNION SELECT w.id, r.id FROM work w JOIN call c ON c.id = w.call
JOIN process_range r ON r.process = c.process AND r.start <= c.start AND r.end >= c.end
UNION SELECT id, range FROM work WHERE range;
CREATE TEMP TABLE held (work, range, UNIQUE (work, range));
INSERT OR IGNORE INTO held SELECT * FROM around;
INSERT OR IGNORE INTO held
WITH RECURSIVE up (work, range) AS (
	SELECT * FROM around
	UNION SELECT id, step FROM work WHERE step > 0
	UNION SELECT work, parent FROM up JOIN range r ON r.id = up.range WHERE parent)
SELECT * FROM up;

-- Kernels with all that tables say of each.
CREATE TEMP TABLE every_kernel AS
SELECT w.id, w.start, w.end, w.end - w.start AS dur, w.device, w.stream, w.call, w.range, w.op, w.step,
       n.name, n.class AS name_class, n.tensor, l.phase, l.path, l.key,
       CASE WHEN a.kind IN ('scale', 'mask') THEN a.kind WHEN l.is_softmax THEN 'softmax'
            ELSE coalesce(a.kind, o.kind) END AS range_class,
       coalesce(a.direction, iif(op.forward, 'backward', NULL), o.direction, n.direction) AS direction,
       CASE WHEN n.dtype IN ('tf32', 'fp8', 'fp4', 'fp8xfp4', 'int8') THEN n.dtype
            ELSE coalesce(a.dtype, CASE WHEN o.kind IS NOT NULL AND (o.dtype LIKE 'fp%' OR o.dtype LIKE 'bf%') THEN o.dtype END,
                          n.dtype, o.dtype) END AS dtype,
       registersPerThread AS registers, staticSharedMemory + dynamicSharedMemory AS shared_bytes,
       gridX AS grid_x, gridY AS grid_y, gridZ AS grid_z, blockX AS block_x, blockY AS block_y, blockZ AS block_z
FROM work w
JOIN CUPTI_ACTIVITY_KIND_KERNEL k ON k.rowid = w.row
JOIN StringIds s ON s.id = k.demangledName
JOIN kernel_name n ON n.name = s.value
LEFT JOIN label l ON l.range = w.range
LEFT JOIN range r ON r.id = l.op
LEFT JOIN operation a ON a.event = r.event
LEFT JOIN op ON op.id = w.op
LEFT JOIN op_config o ON o.id = op.config
WHERE w.sort = 'kernel';
CREATE INDEX temp.every_kernel_of ON every_kernel (id);
CREATE INDEX temp.held_by ON held (range);

-- Time of a step with its device work: from its begin, or the end of those before, to its end or that
-- of the work that was launched in it. Work that was launched before all steps moves the begin of the
-- first one, work without a launch record if it began before all steps. Warm-up apart.
CREATE TEMP TABLE window AS
WITH host AS (
	SELECT id, is_warm_up, start, end, is_pytorch, row_number() OVER w AS n, max(end) OVER w AS reach FROM step WHERE NOT is_open
	WINDOW w AS (PARTITION BY is_warm_up ORDER BY start, end, id ROWS UNBOUNDED PRECEDING)
), launched AS (
	SELECT w.id AS work, w.start, w.end, h.is_warm_up, h.n
	FROM work w JOIN call c ON c.id = w.call
	JOIN host h ON h.n = (SELECT min(f.n) FROM host f WHERE f.is_warm_up = h.is_warm_up AND f.reach > c.start)
	WHERE c.start >= h.start AND c.end <= h.end
), device AS (
	SELECT h.*, (SELECT max(end) FROM launched l WHERE l.n = h.n AND l.is_warm_up = h.is_warm_up) AS work_end,
	       (SELECT count(*) FROM launched l WHERE l.n = h.n AND l.is_warm_up = h.is_warm_up) AS works,
	       (SELECT min(start) FROM launched l WHERE l.n = 1 AND l.is_warm_up = h.is_warm_up) AS first_work
	FROM host h
), earlier AS (
	SELECT d.*, (SELECT max(w.end) FROM work w JOIN host f ON f.n = 1 AND f.is_warm_up = d.is_warm_up
		LEFT JOIN call c ON c.id = w.call WHERE w.end < first_work AND coalesce(c.start, w.start) < f.start) AS before_all
	FROM device d
), ended AS (
	SELECT *, coalesce(max(max(end, coalesce(work_end, end), start)) OVER (
		PARTITION BY is_warm_up ORDER BY n ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), start) AS before
	FROM earlier)
SELECT id AS step, is_warm_up, n, is_pytorch, works,
       iif(has_work, max(start, before, coalesce(before_all, start)), start) AS start,
       iif(has_work, max(end, coalesce(work_end, end), start, before, coalesce(before_all, start)), end) AS end
FROM ended JOIN (SELECT is_warm_up AS sort, sum(works) > 0 AS has_work FROM ended GROUP BY 1) ON sort = is_warm_up;
-- Phases of each finished step, as its ranges tell: the outermost in it; the remainder is the rest.
CREATE TEMP TABLE phase_of_step AS
WITH phase (place, phase) AS (VALUES (0, 'forward'), (1, 'loss'), (2, 'backward'), (3, 'optimizer')
), placed AS (
	SELECT l.phase, r.*, coalesce(l.step, (
		SELECT s.id FROM step s WHERE by_marks AND s.thread = r.thread AND s.start <= r.start AND s.end >= r.end
		ORDER BY s.start DESC LIMIT 1)) AS step
	FROM label l JOIN range r ON r.id = l.range WHERE l.phase IS NOT NULL
), begun AS (
	SELECT l.step, l.phase, l.end - l.start AS ns FROM placed l LEFT JOIN placed p ON p.id = l.parent
	WHERE l.step AND (p.step IS NOT l.step OR p.phase IS NOT l.phase)
	UNION ALL SELECT l.step, p.phase, l.start - l.end FROM placed l JOIN placed p ON p.id = l.parent
	WHERE l.step AND p.step = l.step AND p.phase != l.phase)
SELECT s.id AS step, p.place, p.phase, (SELECT sum(ns) FROM begun b WHERE b.step = s.id AND b.phase = p.phase) AS host_ns,
       (SELECT sum(dur) FROM every_kernel k WHERE k.step = s.id AND k.phase = p.phase) AS gpu_ns,
       max(w.start, (SELECT min(k.start) FROM every_kernel k WHERE k.step = s.id AND k.phase = p.phase)) AS first_ns,
       min(w.end, (SELECT max(k.end) FROM every_kernel k WHERE k.step = s.id AND k.phase = p.phase)) AS last_ns
FROM step s JOIN phase p LEFT JOIN window w ON w.step = s.id;
INSERT INTO phase_of_step
SELECT id, 4, 'remainder', end - start - coalesce((SELECT sum(host_ns) FROM phase_of_step p WHERE p.step = s.id), 0),
       coalesce((SELECT sum(dur) FROM every_kernel k WHERE k.step = s.id AND phase IS NULL), 0), NULL, NULL
FROM step s;
-- From a phase's first kernel to its last, in the step's window; the remainder is what none of them covers.
CREATE TEMP TABLE phase_window AS
SELECT step, place, phase, last_ns - first_ns AS ns FROM phase_of_step WHERE first_ns <= last_ns;
INSERT INTO phase_window
WITH one AS (SELECT step, first_ns, last_ns, max(last_ns) OVER (PARTITION BY step ORDER BY first_ns, last_ns, place
                                                                ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
             FROM phase_of_step WHERE first_ns <= last_ns)
SELECT step, 4, 'remainder', w.end - w.start - sum(max(0, last_ns - max(first_ns, coalesce(before, first_ns))))
FROM one JOIN window w USING (step) GROUP BY step;

-- A remainder is told beside phases only.
CREATE TEMP TABLE has_phases AS
SELECT EXISTS (SELECT 1 FROM phase_of_step p JOIN step s ON s.id = p.step
               WHERE NOT s.is_open AND NOT s.is_warm_up AND p.place < 4 AND p.host_ns NOTNULL) AS yes;

-- Paths in reading order: a range before those in it, siblings as they first started.
CREATE TEMP TABLE path AS
WITH RECURSIVE first AS (
	SELECT l.key, l.path, r.domain, r.style, r.name, min(r.start) - first AS begin, r.parent
	FROM label l JOIN range r ON r.id = l.range JOIN span GROUP BY l.key
), child AS (
	SELECT f.key, f.path, domain, style, p.key AS parent,
	       printf('%020d', begin) || name || char(1) || domain || char(1) || style AS rank
	FROM first f LEFT JOIN label p ON p.range = f.parent
), tree (key, path, domain, style, place) AS (
	SELECT key, path, domain, style, rank FROM child WHERE parent IS NULL
	UNION ALL
	SELECT c.key, c.path, c.domain, c.style, place || char(2) || rank FROM child c JOIN tree t ON t.key = c.parent)
SELECT * FROM tree;

-- --nvtx forward: the ranges so called, and those in them.
CREATE TEMP TABLE inside (id INTEGER PRIMARY KEY);
INSERT INTO inside
WITH RECURSIVE down (id) AS (
	SELECT range FROM label WHERE path = 'forward' OR path LIKE '%/forward'
	UNION SELECT r.id FROM down d JOIN range r ON r.parent = d.id)
SELECT id FROM down;
