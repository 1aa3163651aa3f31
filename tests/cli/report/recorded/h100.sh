for trace in transformer-small resnet50 torch; do
	COLUMNS=160 warpsheet report fixtures/recorded/h100/$trace.wtrace | sed -n '1,10p'
done
