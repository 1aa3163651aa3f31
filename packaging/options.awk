# What --help says, a line each, TAB between the fields, texts whole:
#   an option       COMMAND, -o, --output, ARGUMENT, text
#   a table         COMMAND, , @table, NAME, title
# COMMAND as given: awk -f options.awk -v command=report
function tell() {
	if (name)
		print command "\t" letter "\t" name "\t" arg "\t" text
	name = ""
}
/^tables:/ { tell(); tables = 1; next }
tables && /^  [a-z]/ { title = $0; sub(/^ +[^ ]+ +/, "", title); print command "\t\t@table\t" $1 "\t" title; next }
/^  (-[[:alnum:]], |    )--[a-z]/ {
	tell()
	letter = substr($0, 3, 1) == "-" ? substr($0, 3, 2) : ""
	rest = substr($0, 7)
	match(rest, /^--[a-z-]+/)
	name = substr(rest, 1, RLENGTH)
	rest = substr(rest, RLENGTH + 1)
	match(rest, /  +/)
	arg = RLENGTH > 0 && RSTART > 1 ? substr(rest, 2, RSTART - 2) : RSTART ? "" : substr(rest, 2)
	if (rest ~ /^\[=/)
		arg = "=" substr(arg, 2)
	text = RSTART ? substr(rest, RSTART + RLENGTH) : ""
	next
}
name && /^ +[^ ]/ { sub(/^ +/, ""); text = text (text ? " " : "") $0; next }
!/^ / { tell() }
END { tell() }
