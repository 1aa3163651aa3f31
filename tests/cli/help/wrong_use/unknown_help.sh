warpsheet help chekc
