warpsheet version && warpsheet --version
