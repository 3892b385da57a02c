#!/usr/bin/env bash
# A real Redmine for the ticket tests, from Debian's packages, on a loopback port.
# Prints NAME=value lines for the tests on standard output, everything else on standard error. Quick when it already runs.
set -euo pipefail
exec 3>&1 1>&2
export DEBIAN_FRONTEND=noninteractive
state=/var/tmp/logaudit-redmine
settings=$state/settings
site=/usr/share/redmine

answers() {
  [ -s "$settings" ] || return 1
  python3 - "$settings" <<'PYTHON'
import sys, urllib.request
known = dict(line.strip().split("=", 1) for line in open(sys.argv[1]))
url = f"{known['LOGAUDIT_REDMINE_URL']}/issues/{known['LOGAUDIT_REDMINE_ISSUE']}.json"
request = urllib.request.Request(url, headers={"X-Redmine-API-Key": known["LOGAUDIT_REDMINE_KEY"]})
try:
    urllib.request.urlopen(request, timeout=20).read()
except Exception as problem:
    sys.exit(f"no Redmine at {url}: {problem}")
PYTHON
}

if answers; then
  echo "Redmine already runs"
  cat "$settings" >&3
  exit 0
fi

if ! dpkg -s redmine redmine-sqlite puma >/dev/null 2>&1; then
  apt-get update -qq
  debconf-set-selections <<'PRESEED'
redmine redmine/instances/default/dbconfig-install boolean true
redmine redmine/instances/default/database-type select sqlite3
PRESEED
  apt-get install -y -qq --no-install-recommends redmine redmine-sqlite puma
fi

mkdir -p "$state"
chmod 700 "$state"
as_redmine() {
  (cd "$site" && exec runuser -u www-data -- env HOME=/var/tmp RAILS_ENV=production X_DEBIAN_SITEID=default "$@")
}

prepared=$(as_redmine bin/rails runner - <<'RUBY'
Redmine::DefaultData::Loader.load("en") if Redmine::DefaultData::Loader.no_data?
Setting.rest_api_enabled = "1"
Setting.text_formatting = "textile"
Setting.attachment_max_size = "1024"
Setting.login_required = "0"
project = Project.find_by(identifier: "logaudit") ||
  Project.create!(name: "logaudit", identifier: "logaudit", is_public: false,
                  enabled_module_names: ["issue_tracking"], trackers: Tracker.all)
user = User.find_by(login: "oncall")
unless user
  user = User.new(firstname: "On", lastname: "Call", mail: "oncall@example.invalid", language: "en")
  user.login = "oncall"
  user.password = user.password_confirmation = SecureRandom.hex(16)
  user.save!
end
unless user.member_of?(project)
  Member.create!(user: user, project: project, roles: [Role.givable.order(:position).first])
end
reader = User.find_by(login: "reader")
unless reader
  reader = User.new(firstname: "Only", lastname: "Reader", mail: "reader@example.invalid", language: "en")
  reader.login = "reader"
  reader.password = reader.password_confirmation = SecureRandom.hex(16)
  reader.save!
end
role = Role.find_by(name: "Reads only") || Role.create!(name: "Reads only", permissions: [:view_issues])
Member.create!(user: reader, project: project, roles: [role]) unless reader.member_of?(project)
issue = Issue.where(project: project).first ||
  Issue.create!(project: project, author: user, tracker: project.trackers.first, subject: "The server does not start",
                priority: IssuePriority.default || IssuePriority.first, status: IssueStatus.first)
puts "PREPARED #{user.api_key} #{reader.api_key} #{issue.id}"
RUBY
)
read -r _ key reader_key issue < <(grep '^PREPARED ' <<<"$prepared")

if [ -s "$state/pid" ] && grep -aq puma "/proc/$(cat "$state/pid")/cmdline" 2>/dev/null; then
  kill "$(cat "$state/pid")" || true
fi
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
(
  cd "$site"
  HOME=/var/tmp RAILS_ENV=production X_DEBIAN_SITEID=default setsid nohup \
    runuser -u www-data -- puma -e production -t 1:4 -b "tcp://127.0.0.1:$port" </dev/null >"$state/log" 2>&1 3>&- &
  echo $! >"$state/pid"
)
cat >"$settings" <<SETTINGS
LOGAUDIT_REDMINE_URL=http://127.0.0.1:$port
LOGAUDIT_REDMINE_KEY=$key
LOGAUDIT_REDMINE_READER_KEY=$reader_key
LOGAUDIT_REDMINE_ISSUE=$issue
SETTINGS
for _ in $(seq 60); do
  if answers 2>/dev/null; then
    cat "$settings" >&3
    exit 0
  fi
  sleep 2
done
echo "Redmine did not start; its log:"
tail -40 "$state/log"
rm -f "$settings"
exit 1
