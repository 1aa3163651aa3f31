# Recording that is switched on and off from outside (--standby, warpsheet ctl): docs/dev/recorder.md, 11.
# shellcheck source=tests/cli/record/victim.inc
. "$(dirname "$0")/victim.inc"
# shellcheck source=tests/cli/record/standby.inc
. "$(dirname "$0")/standby.inc"

victim() { # victim HAS_STEPS [OPTION...]
	has_steps=$1
	shift
	rm -f t.wtrace
	truncate -s 0 tally && truncate -s 4096 tally
	begin warpsheet-record "$@" -o t.wtrace -- "$tests/record_victim" by-input "$has_steps" tally
}

done_rounds() { # done_rounds NUMBER: waits until so many are behind the program
	until [ "$(od -An -tu4 -N4 tally | tr -d ' ')" = "$1" ]; do sleep 0.01; done
}

salvage() { # the program may take a moment to end
	exec 3>&-
	warpsheet-record --salvage "$WARPSHEET_SEGMENT_DIR"/warpsheet-* 2>&1 | sed '/still runs/d; s/, [0-9]* bytes//'
}

kill_recorder() { # the shell says "Killed"
	kill -9 $recorder
	{ wait $recorder; } 2>/dev/null
}

recorded() { # the rounds in the trace, their ranges, and the windows
	ask t.wtrace "SELECT group_concat(name, ' ') FROM (SELECT name FROM nvtx_record WHERE type = 'push' AND name LIKE 'event%' ORDER BY time_ns)"
	ask t.wtrace "SELECT sum(type = 'push') || ' pushes, ' || sum(type = 'pop') || ' pops' FROM nvtx_record"
	ask t.wtrace "SELECT 'outside all windows: ' || sum(NOT EXISTS (SELECT 1 FROM meta_record b JOIN meta_record e ON e.key = replace(b.key, 'begin', 'end') WHERE b.key LIKE 'record.window.%.begin_ns' AND n.time_ns BETWEEN CAST(b.value AS INTEGER) AND CAST(e.value AS INTEGER))) FROM nvtx_record n"
	rounds t.wtrace
}

echo '# three steps, then from one step to another'
victim 1 --standby
go xxxx 4
shown
ctl start --steps 3
shown
go xxxxx 9
shown
ctl start
go xx 11
ctl stop
go xxx 14
shown
finish
recorded

echo '# a program without steps: at once'
victim 0 --standby
printf xxx >&3
done_rounds 3
ctl start
printf xx >&3
done_rounds 5
ctl stop
printf xx >&3
done_rounds 7
shown
finish
recorded

echo '# between two steps'
victim 1 --standby
go xx 2
done_rounds 2
ctl start --now
go x 3
done_rounds 3
ctl stop --now
go x 4
shown
finish
recorded

echo '# a start directly after a stop, of which the program has seen nothing'
victim 1 --standby
go x 1
ctl start
go xx 3
done_rounds 3
ctl stop --now
ctl start
go xx 5
ctl stop
go x 6
finish
recorded

echo '# a request that comes before the program'
truncate -s 0 tally && truncate -s 4096 tally
begin warpsheet-record --standby -o t.wtrace -- sh -c 'read -r line; exec "$0" by-input 1 tally' "$tests/record_victim"
until [ "$(field 3)" = starting ]; do sleep 0.01; done
ctl start --steps 2
shown
echo >&3
go xxx 3
shown
finish
recorded

echo '# the recorder is killed while the program is silent'
victim 1 --standby
go xx 2
kill_recorder
shown
ctl start
salvage
rounds t.wtrace*

echo '# and while it records'
victim 1 --standby
go xx 2
ctl start
go xx 4
kill_recorder
printf xx >&3
salvage

echo '# what cannot be'
refused() {
	warpsheet "$@" 2>&1 | grep -v '^ *[0-9P]' | sed "s#$PWD/##; s/process [0-9][0-9]*/process N/"
	warpsheet "$@" >/dev/null 2>&1
	echo "status $?"
}
refused ctl status
refused ctl start
victim 1
until [ "$(field 3)" = recording ]; do sleep 0.01; done
until COLUMNS=1000 warpsheet ctl status | grep -q 't\.wtrace$'; do sleep 0.01; done # it has its name
COLUMNS=1000 warpsheet ctl status | tr -s ' ' | sed "s/^ //; s#$PWD/##; s/[0-9][0-9]*/N/g"
COLUMNS=80 warpsheet ctl status | awk 'length > 80 { print "too wide" } /PID/ { print $1, $2, NF }'
refused ctl start
refused ctl start 1
refused ctl start x
refused ctl begin
refused ctl dump
refused ctl dump --job .
refused ctl stop --steps 3
refused ctl start --steps 10000
mkdir -m 755 open
refused ctl status --segment-dir open
finish
refused record --standby --calibrate -- true
