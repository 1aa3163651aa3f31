"""The module warpsheet, with the programs in PATH: module.py FIXTURES. Run where it may write."""
import os
import sys

import warpsheet

fp32, bf16 = (os.path.join(sys.argv[1], "traces", f"step-{kind}.wtrace") for kind in ("fp32", "bf16"))

table = warpsheet.report(fp32)
shown = table._repr_html_()
assert table["Phase"][0] == "forward" and isinstance(table["Mean (ns)"][0], float), table
assert "<b>Step Statistics</b>" in shown and ">Mean (µs)</th>" in shown and shown.count("<tr>") == len(table["Phase"]) + 1, shown
assert table.units["Mean (ns)"] == "ns"
markdown = "# Report\n\n## T\n\n| `<a>` | n |\n|---|---:|\n| b\\|c | **\\<0.1** |\n\n- Note\n"
assert warpsheet.Table({"columns": [], "rows": []}, lambda: markdown)._repr_html_() == (
    "<b>T</b><table><tr><th style='text-align:left'>&lt;a&gt;</th><th style='text-align:right'>n</th></tr>"
    "<tr><td style='text-align:left'>b|c</td><td style='text-align:right'>&lt;0.1</td></tr></table><p>Note</p>")

page = warpsheet.page(fp32)
assert "<html" in page.html.lower() and page._repr_html_().startswith("<iframe") and "srcdoc" in page._repr_html_()

assert "overall" in warpsheet.diff(fp32, bf16)["Subject"]
sweep = warpsheet.sweep([fp32, bf16])
assert sweep["Dtype"] == ["bf16", "fp32"] and "<td style='text-align:left'>bf16</td>" in sweep._repr_html_()
status, said = warpsheet.gate(fp32, "baseline", "--update")
assert (status, said) == (0, ""), said
status, said = warpsheet.gate(fp32, "baseline")
assert status == 0 and "passed" in said, (status, said)

program = "import warpsheet; warpsheet.fact(batch=16, dtype='bf16')\nwith warpsheet.step(): pass\nraise SystemExit(3)"
assert warpsheet.record([sys.executable, "-c", program], "run.wtrace", "--fact", "layers=2") == 3
facts = warpsheet.sweep(["run.wtrace"])
assert (facts["Batch"], facts["Dtype"]) == ([16], ["bf16"]), facts
for wrong in (lambda: warpsheet.report("none.wtrace"), lambda: warpsheet.diff(fp32, "none.wtrace")):
    try:
        wrong()
    except warpsheet.Error as error:
        assert "none.wtrace" in str(error)
    else:
        raise AssertionError("no error")
