# options before and after the trace, each spelling of a value, and where options end
trace=fixtures/traces/step-fp32.wtrace
rows() { warpsheet report --columns step --format csv "$@" | tr '\r\n' '  '; echo; }
rows --table steps $trace
rows $trace --table=steps --steps 2..3
rows $trace --table steps --steps 3
rows $trace --table steps --steps ..2
rows $trace --table steps --steps 3..
rows --table steps --no-pager --steps 3.. -- $trace
warpsheet report $trace -ofile=1.csv --table steps
warpsheet report $trace --output=a=b.csv --table steps
cp $trace ./--table
warpsheet report --table steps -ob.csv -- --table
ls -- *.csv
cmp file=1.csv a=b.csv && cmp a=b.csv b.csv && echo same
