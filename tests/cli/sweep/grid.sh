# a mean with its deviation in one cell; no rate is the highest over different models
COLUMNS=100 warpsheet sweep fixtures/recorded/grid
