# pages of programs without device work, whose names are as long as file names are: no timeline
program() { # program DURATION FILE
	{
		echo '{"traceEvents": ['
		for i in 1 2 3; do
			echo "{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"ProfilerStep#$i\",\"pid\":1,\"tid\":1,\"ts\":${i}00,\"dur\":90},"
			echo "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::mm\",\"pid\":1,\"tid\":1,\"ts\":${i}10,\"dur\":$1},"
		done
		echo '{"ph":"X","cat":"cpu_op","name":"aten::end","pid":1,"tid":1,"ts":500,"dur":1}], "schemaVersion": 1}'
	} >"$2"
}
program 20 program_before_the_change.json
program 30 program_after_the_change.json
warpsheet diff program_before_the_change.json program_after_the_change.json -o page.html 2>/dev/null
echo "status $?"
tail -1 page.html
