# a file has the usual mode
(umask 027 && warpsheet report fixtures/traces/step-fp32.wtrace -o a.xlsx) && stat -c %a a.xlsx
