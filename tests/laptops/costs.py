"""What a command costs: costs.py COMMAND...: seconds of the processor and the most memory in MB, as a cell of a table."""
import resource
import subprocess
import sys

result = subprocess.run(sys.argv[1:], capture_output=True, text=True)
if result.returncode:
    sys.exit(result.stderr)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(f"{used.ru_utime + used.ru_stime:.1f} s, {used.ru_maxrss / 1024:.0f} MB")
