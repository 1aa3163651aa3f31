warpsheet gate --baseline base --update fixtures/imports/bert-small-h100.json.gz
