# a copy that lies alone
cp "$(command -v warpsheet)" .
./warpsheet record -o x.wtrace -- true 2>&1 | sed "s|/[^ ]*/dir/|DIR/|"
