#!/usr/bin/env bash
# OpenSSH's server and client for the tests that read and follow logs on another machine; tests start the server.
set -euo pipefail
exec 3>&1 1>&2
find_sshd() { PATH="$PATH:/usr/sbin:/usr/local/sbin" command -v sshd; }
if ! find_sshd >/dev/null || ! command -v ssh >/dev/null; then
  export DEBIAN_FRONTEND=noninteractive
  apt-get -o DPkg::Lock::Timeout=300 update -q
  # The packaged service is not wanted: nothing but the tests' own daemons may run.
  printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d.logaudit && chmod +x /usr/sbin/policy-rc.d.logaudit
  if [ ! -e /usr/sbin/policy-rc.d ]; then
    mv /usr/sbin/policy-rc.d.logaudit /usr/sbin/policy-rc.d
    trap 'rm -f /usr/sbin/policy-rc.d' EXIT
  else
    rm -f /usr/sbin/policy-rc.d.logaudit
  fi
  apt-get -o DPkg::Lock::Timeout=300 install -q -y --no-install-recommends openssh-server openssh-client
fi
[ "$(id -u)" != 0 ] || mkdir -p /run/sshd
echo "LOGAUDIT_SSHD=$(find_sshd)" >&3
