# a parameter that does not exist is no NULL, and a wrong name says where the right ones are; a column without a value is named
for query in 'SELECT :gpu_n' 'SELECT ?' 'SELECT * FROM kernel_sumary' 'SELECT durr FROM kernel'; do
  warpsheet query fixtures/traces/step-fp32.wtrace "$query" 2>&1 || echo "exit status $?"
done
warpsheet query fixtures/traces/step-fp32.wtrace 'SELECT :steps AS steps, NULL AS none, 1 / 0 AS infinite'
