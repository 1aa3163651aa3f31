warpsheet record --help
