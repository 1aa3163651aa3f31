cp fixtures/imports/event-sync-a100.json.gz t.json.gz && warpsheet import t.json.gz -o t.json.gz
