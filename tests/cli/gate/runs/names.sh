warpsheet import fixtures/imports/event-sync-a100.json.gz -o mlp.fp32-r1.wtrace >/dev/null
for run in bf16-r2 bf16-r10 bf16-rx; do cp mlp.fp32-r1.wtrace "mlp.$run.wtrace"; done
mkdir base
warpsheet gate --baseline base --format csv mlp.*.wtrace | cut -d, -f 1,9
