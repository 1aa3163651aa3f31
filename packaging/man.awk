# man.sh: a page with its generated lists anew. First the list that options.awk makes, then the page.
function escaped(text) {
	gsub(/\\/, "\\e", text)
	gsub(/--/, "\\-\\-", text)
	sub(/^[.']/, "\\\\\\&&", text)
	return text
}
function sentence(text) {
	text = escaped(toupper(substr(text, 1, 1)) substr(text, 2))
	# each begins a line
	while (match(text, /[a-z)]\. [A-Z]/))
		text = substr(text, 1, RSTART + 1) "\n" substr(text, RSTART + 3)
	return text (text ~ /[.?!]$/ ? "" : ".")
}
# FILE, KEY=VALUE: what the user puts there; yes|no: words as they are
function argument(arg) {
	if (arg ~ /^=/) { # may be left out
		gsub(/^=|\]$/, "", arg)
		gsub(/\|/, " | ", arg)
		return " Ns Op = Ns Cm " arg
	}
	if (arg ~ /\|/) {
		gsub(/\|/, " | ", arg)
		return " Cm " arg
	}
	sub(/=/, " Ns = Ns Ar ", arg)
	return arg ? " Ar " arg : ""
}
function put_options(    i, n) {
	print ".Bl -tag -width indent"
	for (i = 1; i <= noptions; i++) {
		n = option[i]
		print ".It " (letter[n] ? "Fl " substr(letter[n], 2) " , " : "") "Fl " substr(n, 2) argument(arg[n])
		print sentence(text[n])
		if (n in more)
			printf ".\\\" more\n%s", more[n]
	}
	print ".El"
}
function put_tables(    i) {
	print ".Bl -tag -width indent"
	for (i = 1; i <= ntables; i++)
		print ".It Cm " table[i] "\n" sentence(title[i])
	print ".El"
}
function put_commands(    i, c) {
	print ".Bl -tag -width check-feature"
	for (i = 1; i <= ncommands; i++) {
		c = a_command[i]
		print ".It Cm " c "\n" sentence(does[c])
		if (c != "help" && c != "version" && c != "tables")
			print "See\n.Xr warpsheet-" c " 1 ."
	}
	print ".El"
}

FNR == NR && $3 == "@command" { a_command[++ncommands] = $1; does[$1] = $5; next }
FNR == NR && $3 == "@table" { table[++ntables] = $4; title[ntables] = $5; next }
FNR == NR { option[++noptions] = $3; letter[$3] = $2; arg[$3] = $4; text[$3] = $5; next }

# the list that follows one of these lines is made anew
/^The options are:/ { list = "options" }
/^The commands are:/ { list = "commands" }
/^\.Sh/ { list = /TABLES/ ? "tables" : "" }
/^\.Nd / && command in does { print ".Nd " does[command]; next }
list && /^\.Bl/ { depth++ }
list && /^\.El/ && --depth == 0 {
	if (list == "options")
		put_options()
	else if (list == "tables")
		put_tables()
	else
		put_commands()
	list = ""
	next
}
list && depth == 1 && /^\.It/ {
	of = ""
	n = split($0, words, " ")
	for (i = 2; i < n; i++)
		if (words[i] == "Fl")
			of = "-" words[i + 1]
	is_more = 0
	next
}
list && depth == 1 && /^\.\\" more/ { is_more = 1; next }
list && depth { if (is_more) more[of] = more[of] $0 "\n"; next }
{ print }
