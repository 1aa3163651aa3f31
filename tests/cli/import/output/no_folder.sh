mkdir dir && warpsheet import fixtures/imports/event-sync-a100.json.gz -o dir/no/t.wtrace
