#!/usr/bin/env bash
# The browser that the HTML report is tried in. Prints its path as a setting for the tests; all else on standard error.
set -euo pipefail
find_browser() {
  local name
  for name in chromium chromium-browser google-chrome; do
    command -v "$name" && return 0
  done
  return 1
}
if ! find_browser >/dev/null; then
  sudo=""
  [ "$(id -u)" -eq 0 ] || sudo="sudo"
  {
    $sudo apt-get -o DPkg::Lock::Timeout=600 update -qq
    $sudo apt-get -o DPkg::Lock::Timeout=600 install -y -qq --no-install-recommends chromium fonts-dejavu-core
  } >&2
fi
echo "LOGAUDIT_CHROMIUM=$(find_browser)"
