#!/bin/sh
# The stored traces are what their generator makes, and what MANIFEST.md says.
#   check_fixtures.sh MAKE_FIXTURES WARPSHEET FIXTURES [--update]
# The stored files are frozen: a later writer may compress or describe the same
# records otherwise (another libzstd, a grown schema), so where bytes differ the
# records are compared, schema and index left out. --update stores what is made now.
set -eu

make=$1 warpsheet=$2 fixtures=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bad=0

mark='<!-- what follows is written by tests/check_fixtures.sh --update -->'

checksums() { # of the fixtures in folder $1, as the manifest has them
	printf '%s\n\n' "$mark"
	printf '| file | bytes | sha256 |\n|---|---:|---|\n'
	(cd "$1" && for f in traces/*.wtrace broken/*.wtrace; do
		printf '| `%s` | %s | `%s` |\n' "$f" "$(wc -c <"$f")" \
			"$(sha256sum "$f" | cut -d' ' -f1)"
	done)
}

# all rows of trace $1 but those that describe the file itself; a 0 is as good as no column
records() {
	"$warpsheet" dump "$1" 2>&1 | awk '
		/^block/ { skip = /: (schema|index) / ; sub(/ at offset [0-9]+/, ""); sub(/, [0-9]+ bytes/, "") }
		!skip && (/^block/ || /^  \[/) { gsub(/ [a-z_0-9]+=0( \("[a-z_0-9]*"\))?/, ""); print }'
}

"$make" "$work"

if [ "${4:-}" = --update ]; then
	cp "$work"/traces/* "$fixtures/traces"
	cp "$work"/broken/* "$fixtures/broken"
	sed "\\|^$mark\$|,\$d" "$fixtures/MANIFEST.md" >"$work/manifest"
	checksums "$fixtures" >>"$work/manifest"
	cp "$work/manifest" "$fixtures/MANIFEST.md"
	exit 0
fi

for made in "$work"/traces/* "$work"/broken/*; do
	name=${made#"$work"/}
	stored=$fixtures/$name
	if [ ! -f "$stored" ]; then
		echo "missing: $name"
		bad=1
	elif ! cmp -s "$made" "$stored"; then
		case $name in
		broken/*) echo "other bytes: $name" ;; # where its damage lies depends on them
		*)
			records "$made" >"$work/made.txt"
			records "$stored" >"$work/stored.txt"
			diff -u "$work/stored.txt" "$work/made.txt" || bad=1
			[ -s "$work/stored.txt" ] || bad=1
			echo "other bytes: $name"
			;;
		esac
	fi
done
for stored in "$fixtures"/traces/* "$fixtures"/broken/*; do
	name=${stored#"$fixtures"/}
	[ -f "$work/$name" ] || {
		echo "nobody makes: $name"
		bad=1
	}
	grep -qF "| \`$name\` | $(wc -c <"$stored") | \`$(sha256sum "$stored" | cut -d' ' -f1)\` |" \
		"$fixtures/MANIFEST.md" || {
		echo "not as MANIFEST.md says: $name"
		bad=1
	}
done
exit $bad
