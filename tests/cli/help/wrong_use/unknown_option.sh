warpsheet report --tabel steps x.wtrace
