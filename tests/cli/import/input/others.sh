# what other tools write is called by its name, with the way to a file that is read, by content whatever the name is
printf 'version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n' >baseline.wtrace
printf '<!DOCTYPE html>\n<html><body>404</body></html>\n' >page.json
printf '[{"traceEvents": [{"ph": "X", "name": "a", "ts": 1, "dur": 1}]}]\n' >list.json
printf '{"ph": "X", "name": "a", "ts": 1, "dur": 1}\n{"ph": "X", "name": "b", "ts": 2, "dur": 1}\n' >lines.json
printf '{\n "rocprofiler-sdk-tool": [{"metadata": {}}]}\n' >rocprof.json
printf 'SQLite format 3\0 rocpd_kernel_dispatch' >results.db
printf '{"$schema": "https://www.speedscope.app/file-format-schema.json", "profiles": []}\n' >stacks.json
printf '\n\013host' >trace.pftrace
printf 'x' >run.ncu-rep
for input in baseline.wtrace page.json list.json lines.json rocprof.json results.db stacks.json trace.pftrace run.ncu-rep; do
	warpsheet report $input
	echo "report $input: exit $?"
done
warpsheet import rocprof.json -o t.wtrace
warpsheet check baseline.wtrace
# such words inside a profile or a trace mean nothing
printf '{"traceEvents": [\n{"ph": "X", "cat": "cpu_op", "name": "speedscope.app/file-format-schema rocpd_ \\"rocprofiler-sdk-tool\\"", "pid": 1, "tid": 1, "ts": 1, "dur": 1}\n]}\n' >run.nsys-rep
warpsheet import run.nsys-rep -o t.wtrace
# a report beside traces is left out without a word; a page of another name is told
mkdir runs
cp fixtures/traces/step-fp32.wtrace page.json runs/
cp page.json runs/page.html
warpsheet sweep runs --table sweep --format csv | wc -l
