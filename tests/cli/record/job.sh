# ranks that share a folder record the same steps (--job): docs/dev/recorder.md, 11
# shellcheck source=tests/cli/record/victim.inc
. "$(dirname "$0")/victim.inc"

begin() { # begin RANK [OPTION…]: its input is descriptor 3 + RANK; its trace is r.rankRANK.wtrace
	[ -p in$1 ] || mkfifo in$1
	truncate -s 4096 tally$1
	rank=$1
	shift
	[ $# -gt 0 ] || set -- --standby --job job
	RANK=$rank WORLD_SIZE=2 warpsheet-record "$@" -o r.wtrace -- "$tests/record_victim" by-input 1 tally$rank <in$rank 2>said$rank &
	eval "recorder$rank=$!; exec $((3 + rank))>in$rank"
}

go() { # go RANK NUMBER: so many steps more
	printf "%${2}s" '' >&$((3 + $1))
}

# of each rank, by its number: what status says
state() {
	warpsheet ctl status --job job --format csv 2>/dev/null | tr -d '\r' | cut -d, -f3,5-6,12 | sed '1d'
}

shows() { # shows STATE: waits until it is the state
	until [ "$(state | tr '\n' ' ')" = "$1 " ]; do sleep 0.05; done
	state
}

ctl() {
	warpsheet ctl "$@" --job job >out 2>err
	status=$?
	sed "s/step [0-9][0-9]*/step N/" out err
	[ $status = 0 ] || echo "status $status"
}

ctl start
begin 0
shows silent,0,,0
ctl start
begin 1
go 0 4
go 1 6
shows 'silent,4,,0 silent,6,,1'
echo '# three steps'
ctl start --steps 3
first=$(sed 's/.*step //' out)
last=$((first + 2))
[ "$first" -gt 6 ] && shows "waiting,4,$first..$last,0 waiting,6,$first..$last,1" | sed "s/$first\.\.$last/N..N+2/"
go 0 $((last + 5 - 4))
go 1 $((last + 3 - 6))
shows "silent,$((last + 5)),$first..$last,0 silent,$((last + 3)),$first..$last,1" >/dev/null
echo '# from one step to another'
at=$((last + 5))
ctl start
next=$(sed 's/.*step //' out)
go 0 $((next - at))
go 1 $((next + 2 - at))
shows "recording,$next,$next..,0 recording,$((next + 2 - 2)),$next..,1" >/dev/null
ctl stop
stop=$(sed 's/.*step \([0-9]*\).*/\1/' out)
go 0 $((stop - next))
go 1 $((stop - next))
shows "silent,$stop,$next..$((stop - 1)),0 silent,$stop,$next..$((stop - 1)),1" >/dev/null
echo '# a command for a step that one has passed'
echo "1 start $((stop + 2)) 1 0" >job/command.tmp
go 0 3
shows "silent,$((stop + 3)),$next..$((stop - 1)),0 silent,$stop,$next..$((stop - 1)),1" >/dev/null
mv job/command.tmp job/command
shows "missed,$((stop + 3)),$next..$((stop - 1)),0 waiting,$stop,$((stop + 2))..$((stop + 2)),1" >/dev/null && echo 'rank 0 has missed it, rank 1 waits'
echo '# what is no command, and no rank'
echo '2 start x' >job/command
echo garbage >job/rank-x-1
state | cut -d, -f1,4
echo '# a dead rank'
kill -9 $recorder1
{ wait $recorder1; } 2>/dev/null
state | cut -d, -f1,4
ctl start
ctl stop
exec 3>&- 4>&-
wait $recorder0
state | cut -d, -f1,4
for rank in 0 1; do
	[ $rank = 0 ] || warpsheet-record --salvage "$WARPSHEET_SEGMENT_DIR"/warpsheet-* 2>/dev/null
	ask r.rank$rank.wtrace "SELECT 'rank $rank: wrong steps: ' || sum(CAST(substr(name, 7) AS INTEGER) NOT BETWEEN $first AND $last AND CAST(substr(name, 7) AS INTEGER) NOT BETWEEN $next AND $((stop - 1))) || ', missing: ' || (3 + $stop - $next - count(*)) AS found FROM nvtx_record WHERE name LIKE 'event %'"
done
echo '# folders of others'
chmod 777 job
ctl status
warpsheet-record --standby --job job -- true 2>&1
warpsheet-record --job job -- true 2>&1
echo "status $?"
echo '# flight recorders of a job, and what does not go together'
rm -f r.*
for rank in 0 1; do
	begin $rank --keep 60 --job fly
	go $rank 3
done
until [ "$(warpsheet ctl status --job fly --format csv 2>/dev/null | grep -c recording,)" = 2 ]; do sleep 0.05; done
warpsheet ctl start --job fly 2>&1 | sed "s/process [0-9]*/process N/"
warpsheet ctl dump --job fly
until [ -e r.rank0.1.wtrace ] && [ -e r.rank1.1.wtrace ]; do sleep 0.05; done
exec 3>&- 4>&-
wait $recorder0 $recorder1
for trace in r.*; do
	echo "$trace:$(warpsheet info $trace | grep -o 'flight.trigger.*' | tr -s ' ')"
done
chmod 700 job
rm job/rank*
begin 0
until [ "$(state)" ]; do sleep 0.05; done
warpsheet ctl dump --job job 2>&1 | sed "s/process [0-9]*/process N/"
exec 3>&-
wait $recorder0
