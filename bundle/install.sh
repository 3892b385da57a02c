#!/bin/sh
# Installs logaudit from the wheels beside this script, without any network:
#   ./install.sh FOLDER [PYTHON]
# FOLDER becomes a virtual environment of its own; the command is FOLDER/bin/logaudit.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
target=${1:-}
if [ -z "$target" ] || [ "$target" = --help ]; then
  sed -n '2,4s/^# //p' "$0"
  [ "$target" = --help ] && exit 0
  exit 2
fi
if [ -e "$target" ] && [ -n "$(ls -A "$target" 2>/dev/null || echo file)" ]; then
  echo "install.sh: $target exists already: choose another folder" >&2
  exit 2
fi

serves() {
  command -v "$1" >/dev/null 2>&1 || return 1
  tag=$("$1" -c 'import sys; print("cp%d%d" % sys.version_info[:2])' 2>/dev/null) || return 1
  [ -f "$here/$tag.txt" ]
}

python=
for candidate in ${2:-python3 python3.13 python3.12 python3.11 python}; do
  if serves "$candidate"; then python=$candidate; break; fi
done
if [ -z "$python" ]; then
  known=$(cd "$here" && echo cp*.txt | sed 's/cp3/3./g; s/\.txt//g')
  echo "install.sh: no Python of these versions was found: $known (name one: ./install.sh FOLDER /path/to/python)" >&2
  exit 2
fi

# pip comes along: some systems have Python without it.
"$python" -m venv --without-pip "$target"
run="$target/bin/python"
pip() { PYTHONPATH=$(echo "$here"/wheels/pip-*.whl) "$run" -m pip --disable-pip-version-check --quiet "$@"; }

set --
while read -r wheel; do
  case $wheel in
    hyperscan-*)
      if ! pip install --no-index --no-deps --dry-run "$here/wheels/$wheel" >/dev/null 2>&1; then
        echo "install.sh: the fast scanner (hyperscan) does not run on this system: the slower one is used" >&2
        continue
      fi ;;
  esac
  set -- "$@" "$here/wheels/$wheel"
done <"$here/$tag.txt"
pip install --no-index --no-deps "$@"
"$target/bin/logaudit" --version
echo "installed: $target/bin/logaudit"
