#!/bin/sh
# report.html in a real browser: numbers read back from the page are those of the CSV, hostile
# names stay text, nothing is requested from anywhere, and no script fails.
# shellcheck source=tests/e2e/common.sh
. "$(dirname "$0")/common.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
browser=
for name in chromium chromium-browser google-chrome; do
	command -v $name >/dev/null 2>&1 && browser=$name && break
done
if [ -z "$browser" ]; then
	echo "SKIP: no Chromium here"
	exit 77
fi
cd "$work"

page() { # page FILE.html: the page as the browser made it, in page.txt; its words in browser.txt
	# its socket lies under TMPDIR; a path of more than 107 bytes aborts Chromium
	HOME=$work TMPDIR=. timeout 300 $browser --headless --no-sandbox --disable-gpu --enable-logging=stderr \
		--user-data-dir="$work/profile" --virtual-time-budget=10000 --dump-dom "file://$work/$1" \
		>page.txt 2>browser.txt || fail "$browser cannot open $1: $(tail -3 browser.txt)"
	grep -aq 'data-ready="[1-9]' page.txt || fail "$1: the script did not finish"
	grep -aE 'CONSOLE.*(rror|efused)' browser.txt >errors.txt && fail "$1: $(cat errors.txt)"
	# what is named in the page's own text is no request: elements and styles would be
	grep -aoE '<(script|img|link|iframe|object|embed)[^>]*(src|href)="[^"]*"|url\([^)]*\)' page.txt |
		grep -av 'href="data:,"' >requests.txt && fail "$1 asks for $(head -1 requests.txt)"
	:
}

"$ws" report "$root/fixtures/traces/step-fp32.wtrace" -o step.html
page step.html
"$ws" report "$root/fixtures/traces/step-fp32.wtrace" --table kernel-summary --format csv >kernels.csv
# instances, a number that is shown as it is, of every kernel, beside its whole name
tail -n +2 kernels.csv | awk -F, '{ print $3 }' | sort -n >want.txt
tr '\n' ' ' <page.txt | sed 's/<section/\n<section/g' | grep -a '^<section id="kernel-summary"' |
	grep -ao '<tr><td class="n">[^<]*</td><td class="n">[^<]*</td><td class="n">[^<]*</td>' |
	sed 's/.*<td class="n">\([^<]*\)<\/td>$/\1/; s/,//g' | sort -n >got.txt
[ -s got.txt ] || fail "the page has no rows of kernel-summary"
cmp -s want.txt got.txt || fail "instances in the page differ: $(diff want.txt got.txt | head -5)"
grep -aq '<svg' page.txt || fail "the page has no chart"
[ "$(wc -c <step.html)" -lt 1000000 ] || fail "the page has a million bytes"

# a click on a header sorts, largest first; the field filters rows
cat >use.js <<'END'
<script>
const used = document.querySelector("#kernel-summary");
[...used.querySelectorAll("th")].find(th => th.textContent === "Instances").click();
const field = used.querySelector("input");
field.value = "bwd";
field.dispatchEvent(new Event("input"));
const shownRows = [...used.querySelectorAll("tbody tr")].map(tr => tr.children);
document.body.dataset.used = shownRows.map(cells => cells[2].textContent).join(" ") +
  (shownRows.every(cells => [...cells].some(td => td.textContent.includes("bwd"))) ? " bwd" : " others");
const alike = ["64x256", "128x128", "64x256"].map(tile => `sm80_xmma_gemm_tilesize${tile}x8_stage3_warpsize1x2x1_ffma_aligna4_alignc4`);
document.body.dataset.labels = clips(alike, 32).map(label => label.slice(0, 20)).join(" ");
</script>
END
sed -e '/<\/body>/{r use.js
	d}' step.html >used.html
page used.html
awk -F, 'NR > 1 && /bwd/ { print $3 }' kernels.csv | sort -nr | tr '\n' ' ' >want.txt
grep -aq "data-used=\"$(cat want.txt)bwd\"" page.txt ||
	fail "sorted and filtered the page has $(grep -ao 'data-used="[^"]*"' page.txt), not $(cat want.txt)"

# labels of a chart that would look alike show where their names differ
grep -aq 'data-labels="sm80_xmm…size64x256x sm80_xmm…size128x128 sm80_xmm…size64x256x' page.txt ||
	fail "labels are alike: $(grep -ao 'data-labels="[^"]*"' page.txt)"

"$ws" report "$root/fixtures/traces/hostile.wtrace" -o hostile.html
page hostile.html
# a name with markup is text: the browser made no element of it
grep -a '<b>\|<img\|onerror=' page.txt | grep -av '^{\|^\[' | grep -aq '<td[^>]*><\(b\|img\|script\)' &&
	fail "a name became markup"
grep -aq '&lt;' page.txt || fail "the hostile names are not there"

"$ws" diff "$root/fixtures/traces/step-fp32.wtrace" "$root/fixtures/traces/step-bf16.wtrace" -o diff.html
page diff.html
grep -aq 'class="t LIKELY FASTER"' page.txt || fail "the grades are not there"
for has in '<h2>Phases, fp32 against bf16<' '<th[^>]*>fp32 Mean (us)<' '<th[^>]*>fp32 StdDev (us)<'; do
	grep -aq "$has" page.txt || fail "the sides are not named, or units differ: no $has"
done
# sides by their names in headers and charts, never as letters
for title in 'bf16 / fp32 by phase' 'GPU time of a typical step by phase, fp32 and bf16' 'Phases, fp32 against bf16'; do
	grep -aq "$title" page.txt || fail "no '$title'"
done
tr '\n' ' ' <page.txt | sed 's/<section/\n<section/g' | grep -a '^<section id="diff-verdict"' |
	grep -aq 'bf16 is likely 1.6× faster.*<svg' || fail "the verdict does not come before its charts"
grep -aoE '<(th|h2|h3)[^>]*>[^<]*' page.txt | sed 's/<[^>]*>//' | grep -aE '(^| )[AB]( |:|,|$)' &&
	fail "a side is called by its letter"
"$1/../tests/make_fleet" ranks 8 2
"$ws" report ranks -o ranks.html
page ranks.html
tr '\n' ' ' <page.txt | grep -aq 'computation and exposed communication</h3><svg' || fail "the ranks have no chart"
"$ws" report "$root/fixtures/traces/step-fp32.wtrace" --table steps --format csv -o - >steps.csv
"$ws" report "$root/fixtures/traces/step-fp32.wtrace" --table steps --format csv | cmp - steps.csv ||
	fail "-o - is not stdout"
[ ! -e ./- ] || fail "-o - made a file"
echo "$(wc -l <got.txt) kernels read back"
