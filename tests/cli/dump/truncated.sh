warpsheet dump fixtures/broken/truncated.wtrace --kind process_end
