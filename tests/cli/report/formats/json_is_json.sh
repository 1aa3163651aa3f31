for trace in fixtures/traces/*.wtrace; do
	warpsheet report $trace --format json 2>/dev/null >all.json
	python3 -c "import json; print(*json.load(open(\"all.json\"))[\"tables\"])"
done
