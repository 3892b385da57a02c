#!/usr/bin/env bash
# Builds the archive for machines without a network, and installs and runs it with the network out of reach.
set -euo pipefail
cd "$(dirname "$0")/.."
python=$(.venv/bin/python -c 'import sys; print("%d.%d" % sys.version_info[:2])')
base=$(.venv/bin/python -c 'import sys; print(sys.base_prefix + "/bin/python%d.%d" % sys.version_info[:2])')
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
archive=$(.venv/bin/python -m bundle --python "$python" --extras fleet --out "$folder")
cp fixtures/kimi-k25-tp8.log "$folder/server.log"
cd "$folder"
tar -xf "$archive"
alone=(unshare -n)
"${alone[@]}" true 2>/dev/null || alone=(unshare -rn)
offline() { "${alone[@]}" env -i HOME="$folder" PATH=/usr/bin:/bin "$@"; }
! offline "$base" -c 'import socket; socket.create_connection(("192.0.2.1", 80), 3)' 2>/dev/null
offline ./logaudit-*/install.sh "$folder/here" "$base"
offline here/bin/logaudit report server.log --check | grep -F "159,277 tokens"
offline here/bin/logaudit report server.log -o report.html
offline here/bin/logaudit fleet server.log -o fleet.parquet --workers 0
# Without the fast scanner the base install works, and says what it lacks.
here/bin/python -m compileall -q here/lib >/dev/null
rm -rf here/lib/python*/site-packages/hyperscan*
offline here/bin/logaudit --version | grep -F "slower"
offline here/bin/logaudit report server.log --check | grep -F "159,277 tokens"
