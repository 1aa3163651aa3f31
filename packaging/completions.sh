#!/bin/sh
# Completions of the three programs for bash, zsh and fish, from their --help, which is printed from
# the tables that parse the options:
#   completions.sh BIN OUT    writes OUT/{bash,zsh,fish}/…
set -eu
bin=$1 out=$2
mkdir -p "$out/bash" "$out/zsh" "$out/fish"
list=$(mktemp)
trap 'rm -f "$list"' EXIT

here=$(dirname "$0")
tab=$(printf '\t')
options_of() { # options_of COMMAND, help on stdin
	awk -f "$here/options.awk" -v command="$1"
}

commands=$("$bin/warpsheet" help | sed -nE 's/^  ([a-z][a-z-]*) +.*/\1/p')
for command in $commands; do
	case $command in
	record | help) ;;
	*) "$bin/warpsheet" "$command" --help | options_of "$command" ;;
	esac
done >"$list"
{
	{ "$bin/warpsheet-record" --help && "$bin/warpsheet-step" --help; } | options_of record |
		sort -u -t"$tab" -k3,3 | grep -v "$tab--version$tab"
	"$bin/warpsheet-record" --help | options_of recorder
	"$bin/warpsheet-step" --help | options_of step
	"$bin/warpsheet" help | sed -nE "s/^  ([a-z][a-z-]*) +(.*)/help$tab$tab@command$tab\1$tab\2/p"
} >>"$list"
grep -q "^report$tab-o$tab--output$tab" "$list" || {
	echo "completions.sh: --help is not as it was: no option of report found in it" >&2
	exit 1
}

# bash: words by command, values by command and option
awk -F'\t' '
	$3 == "@command" { commands = commands " " $4; next }
	$3 == "@table" { tables[$1] = tables[$1] " " $4; next }
	{ gsub(/\|/, " ", $4) } # of several words lists its values
	{ options[$1] = options[$1] " " $3 ($2 ? " " $2 : "") }
	$4 { values = $4 ~ / / ? $4 : $4 ~ /FILE|FOLDER|TRACE|OUT|SEGMENT|PATH/ ? "@files" : "@none"
		for (i = 2; i <= 3; i++) if ($i) value[$1 " " $i] = values }
	END {
		print "# made by packaging/completions.sh; do not edit"
		print "_warpsheet_values() { # COMMAND OPTION: values, @files, @none, or nothing for a flag"
		print "\tcase \"$1 $2\" in"
		for (c in tables) { value[c " --table"] = substr(tables[c], 2) }
		for (v in value) printf "\t\"%s\") echo \"%s\" ;;\n", v, value[v] | "sort"
		close("sort")
		print "\tesac\n}"
		print "_warpsheet_options() {\n\tcase $1 in"
		for (c in options) printf "\t%s) echo \"%s\" ;;\n", c, substr(options[c], 2) | "sort"
		close("sort")
		print "\tesac\n}"
		print "_warpsheet_commands=\"" substr(commands, 2) "\""
	}' "$list" >"$out/bash/warpsheet"
cat >>"$out/bash/warpsheet" <<'EOF'
_warpsheet() {
	local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command values
	COMPREPLY=()
	# readline takes --option=value for three words
	if [ "$word" = = ]; then
		word=
	elif [ "$before" = = ] && [ "$COMP_CWORD" -gt 2 ]; then
		before=${COMP_WORDS[COMP_CWORD - 2]}
	fi
	case ${1##*/} in
	warpsheet-record) command=recorder ;;
	warpsheet-step) command=step ;;
	*)
		command=${COMP_WORDS[1]}
		if [ "$COMP_CWORD" = 1 ] || [ "$command" = help ]; then
			mapfile -t COMPREPLY < <(compgen -W "$_warpsheet_commands" -- "$word")
			return
		fi
		;;
	esac
	values=$(_warpsheet_values "$command" "$before")
	case $values in
	@files) mapfile -t COMPREPLY < <(compgen -f -- "$word") ;;
	@none) ;;
	?*) mapfile -t COMPREPLY < <(compgen -W "$values" -- "$word") ;;
	*)
		case $word in
		-*) mapfile -t COMPREPLY < <(compgen -W "$(_warpsheet_options "$command")" -- "$word") ;;
		*) mapfile -t COMPREPLY < <(compgen -f -- "$word") ;;
		esac
		;;
	esac
}
complete -o filenames -F _warpsheet warpsheet warpsheet-record warpsheet-step
EOF

# zsh runs bash's functions; it shows files and words in its own way
{
	echo '#compdef warpsheet warpsheet-record warpsheet-step'
	sed '/^_warpsheet() {/,$d' "$out/bash/warpsheet"
	cat <<'EOF'
_warpsheet() {
	local command values before=${words[CURRENT - 1]}
	if [[ ${words[CURRENT]} = --*=* ]]; then
		before=${words[CURRENT]%%=*}
		compset -P '*='
	fi
	case ${service:t} in
	warpsheet-record) command=recorder ;;
	warpsheet-step) command=step ;;
	*)
		command=${words[2]}
		if (( CURRENT == 2 )) || [[ $command = help ]]; then
			compadd -- ${=_warpsheet_commands}
			return
		fi
		;;
	esac
	values=$(_warpsheet_values "$command" "$before")
	case $values in
	@files) _files ;;
	@none) ;;
	?*) compadd -- ${=values} ;;
	*)
		if [[ ${words[CURRENT]} = -* ]]; then
			compadd -- ${=$(_warpsheet_options "$command")}
		else
			_files
		fi
		;;
	esac
}
_warpsheet "$@"
EOF
} >"$out/zsh/_warpsheet"

# fish has the help beside each word
awk -F'\t' '
	function quoted(text) { gsub(/\\/, "\\\\", text); gsub(/\x27/, "\\\x27", text); return "\x27" text "\x27" }
	$3 == "@command" {
		printf "complete -c warpsheet -n __fish_use_subcommand -f -a %s -d %s\n", $4, quoted($5)
		printf "complete -c warpsheet -n \x27__fish_seen_subcommand_from help\x27 -f -a %s -d %s\n", $4, quoted($5)
		next
	}
	$3 == "@table" { tables[$1] = tables[$1] " " $4; next }
	{
		gsub(/\|/, " ", $4)
		sub(/,? e\.g\..*|\. .*/, "", $5) # beside a word there is room for few
		program = $1 == "recorder" ? "warpsheet-record" : $1 == "step" ? "warpsheet-step" : "warpsheet"
		line = "complete -c " program
		if (program == "warpsheet") line = line " -n \x27__fish_seen_subcommand_from " $1 "\x27"
		line = line " -l " substr($3, 3) ($2 ? " -s " substr($2, 2) : "") " -d " quoted($5)
		if ($4 ~ / /) line = line " -x -a " quoted($4)
		else if ($4 ~ /FILE|FOLDER|TRACE|OUT|SEGMENT|PATH/) line = line " -r"
		else if ($3 == "--table") { last[$1] = line; next }
		else if ($4) line = line " -x"
		print line
	}
	END { for (c in last) print last[c] " -x -a " quoted(substr(tables[c], 2)) }' "$list" >"$out/fish/warpsheet.fish"
