# limits of the process make the shared memory smaller and lose nothing; fewer rings than threads are counted event by event
# shellcheck source=tests/cli/record/victim.inc
. "$(dirname "$0")/victim.inc"

for kib in 102400 3072; do
	(ulimit -f $kib && record "files of $kib KiB" exit 20) | sed 's/[0-9.]* [KMG]\?iB\|[0-9]* bytes/N/g'
done
(ulimit -f 97 && record 'a limit below any shared memory is told before the program runs' exit 20) | sed 's/[0-9]* bytes/N/g'
rm -f t.wtrace
warpsheet-record -o t.wtrace -- /bin/sh -c 'ulimit -f 1; exec dd if=/dev/zero of=big bs=4096 count=10' 2>said
echo "over its own limit: status $?"
said

