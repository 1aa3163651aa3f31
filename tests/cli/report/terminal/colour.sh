warpsheet report fixtures/traces/empty.wtrace --table steps --color always | cat -v
# it is the only escape, and nothing else is another
report() { COLUMNS=70 warpsheet report fixtures/traces/hostile.wtrace --table kernel-summary --color "$1"; }
report always | sed 's/\x1b\[[012]m//g' >plain
report never | diff - plain && grep -c "$(printf '\033')" plain
