warpsheet check fixtures/imports/event-sync-a100.json.gz --repair t.wtrace
