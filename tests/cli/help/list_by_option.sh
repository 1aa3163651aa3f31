warpsheet --help
