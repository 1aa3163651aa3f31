# two programs by turns, and the verdict in one file: the times are planted (tests/recorder/cuda/planted.c), CUPTI is that of the tests
# shellcheck source=tests/cli/cuda/record.inc
. "$(dirname "$0")/record.inc"

steps() { # steps LINE...: a program of six steps of these lines
	for _ in 1 2 3 4 5 6; do
		printf '%s\n' step "$@" end
	done
}
product='launch sgemm 7 3000'
cat >planted.sh <<END
LD_PRELOAD="$tests/fake_cuda/libfake_clock.so" exec "$tests/planted_cuda" <"\$1"
END

judged() { # judged WHAT: a against b
	printf '\n# %s\n' "$1"
	rm -rf runs
	warpsheet record --ab --referee --repeat 9 -o runs -- sh planted.sh a --- sh planted.sh b >/dev/null 2>said
	echo "status $?"
	python3 -c "
import json
tables = json.load(open('runs/referee.json'))['tables']
verdict = tables['referee']['rows'][0]
print(verdict[0], verdict[1] and round(verdict[1], 3), 'pairs', verdict[4])
for reason in tables['referee-reasons']['rows']:
    print(*reason, sep=': ')"
}

steps "$product 400000" "$product 400000" wait >a
steps "$product 200000" "$product 200000" wait >b
judged 'faster kernels'
steps "$product 400000" wait >b
judged 'half of the work is left out'
steps "launch sgemm 9 3000 400000" "launch sgemm 9 3000 400000" >b
judged 'on another stream, for which the step does not wait'
steps "$product 400000" wait | sed "s/^end$/end\\n$product 400000\\nwait/" >b
judged 'half of the work is done between the steps'
