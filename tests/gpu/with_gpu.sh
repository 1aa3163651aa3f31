#!/bin/sh
# Run a test program where there is a GPU: with_gpu.sh PROBE COMMAND...
# Without one say why and end with 77, which CTest shows as skipped.
probe=$1
shift
"$probe" || exit $?
exec "$@"
