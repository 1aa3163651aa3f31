warpsheet import fixtures/imports/bert-small-h100.json.gz
