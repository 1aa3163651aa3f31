# shellcheck shell=sh
# What the scripts of this folder share. Set before: out (folder of the answers).
# A verdict is a line of $out/lines.json (JSON) and of what is shown; both are appended to at
# once, so that whoever is killed has told all that was known.

lines=${out:?}/lines.json

# plain: what may stand in a JSON string
plain() {
	tr -cd ' -!#-[]-~'
}

# verdict pass|fail|slow|skip|info NAME [FIGURE [UNIT [GOAL]]]
verdict() {
	printf '%-5s %-66s %16s %-12s %s\n' "$1" "$2" "${3-}" "${4-}" "${5:+goal: $5}"
	printf '{"kind":"verdict","part":"%s","verdict":"%s","name":"%s","figure":"%s","unit":"%s","goal":"%s"}\n' \
		"${part-}" "$1" "$2" "${3-}" "${4-}" "${5-}" >>"$lines"
}

# must NAME FIGURE UNIT -eq|-ge|-gt GOAL: pass when `test FIGURE COMPARISON GOAL` holds
must() {
	case $4 in
	-eq) goal="$5" ;;
	-ge) goal="at least $5" ;;
	*) goal="more than $5" ;; # -gt
	esac
	if test "$2" "$4" "$5" 2>/dev/null; then
		verdict pass "$1" "$2" "$3" "$goal"
	else
		verdict fail "$1" "${2:-nothing}" "$3" "$goal"
	fi
}

# under NAME FIGURE UNIT GOAL: numbers with a point; slow when it is not under the goal
under() {
	if awk "BEGIN { exit !(\"$2\" != \"\" && $2 + 0 < $4) }" 2>/dev/null; then
		verdict pass "$1" "$2" "$3" "under $4"
	else
		verdict slow "$1" "${2:-nothing}" "$3" "under $4"
	fi
}

# calc EXPRESSION: of awk, with three digits
calc() {
	awk "BEGIN { printf \"%.3f\", $1 }" 2>/dev/null
}
