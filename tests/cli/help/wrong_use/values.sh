# what an option does not take is refused with what it takes; no file is read
trace=fixtures/traces/step-fp32.wtrace
refused() { # refused COMMAND WORD...
	command=$1
	shift
	warpsheet "$command" $trace "$@" && echo "taken: $*"
	[ $? = 2 ] || echo "another status: $*"
}
for words in '--device -1' '--device 7x' '--device 99999999999999999999' --device '--format js' --format '--steps 5..2' \
	'--steps ..' '--steps 1-2' '--steps 1..2..3' '--no-output' '--no-pager=1' '--ouptut x' '--tabel=steps' '--nothinglike' -x; do
	# shellcheck disable=SC2086 # words
	refused report $words
done 2>&1
for words in '--threshold nan' '--threshold 5%' '--treshold=3'; do
	# shellcheck disable=SC2086 # words
	refused diff $trace $words
done 2>&1
many=$(yes -- '--whatif class=gemm' | head -17)
# shellcheck disable=SC2086 # words
refused report $many 2>&1
