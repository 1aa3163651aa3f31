warpsheet gate --baseline base --workload step --update fixtures/traces/step-bf16.wtrace 2>/dev/null
warpsheet gate --baseline base --workload step --run-noise 1 --format github fixtures/traces/step-fp32.wtrace >comment.md
echo "status $?"
grep -c '' comment.md | awk '{ print ($1 > 20 ? "more than 20 lines" : "short") }'
wc -c <comment.md | awk '{ print ($1 < 60000 ? "under 60000 bytes" : "too long") }'
grep -E '^\| step|<details>|</details>' comment.md
