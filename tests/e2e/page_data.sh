#!/bin/sh
# page_data.sh BIN TRACE...: the data of HTML pages beside the tables.
# shellcheck source=tests/e2e/common.sh
. "$(dirname "$0")/common.sh"
here=$(cd "$(dirname "$0")" && pwd)
shift
python3 "$here/page_data.py" "$ws" "$work" "$@"
