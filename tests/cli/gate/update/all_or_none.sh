# a baseline in folders that are not there yet
warpsheet gate --baseline some/where/base --update -- fixtures/traces/step-fp32.wtrace fixtures/traces/step-bf16.wtrace
cd some/where/base
before=$(stat -c %i */*/run-1.wtrace)
# the second workload cannot be replaced: its folder is a link
mkdir ../elsewhere
mv example-fp32-b4-c128/example-gpu-invented ../elsewhere/
ln -s ../../elsewhere/example-gpu-invented example-fp32-b4-c128/
cd - >/dev/null
warpsheet gate --baseline some/where/base --update -- fixtures/traces/step-bf16.wtrace fixtures/traces/step-fp32.wtrace
echo "status $?"
[ "$before" = "$(stat -c %i some/where/base/*/*/run-1.wtrace)" ] && echo "all runs of before"
find some -name '.?*'
