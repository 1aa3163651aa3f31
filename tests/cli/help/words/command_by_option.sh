warpsheet diff a b --nonsense --help
