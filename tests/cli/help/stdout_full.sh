warpsheet help >/dev/full
