"""Stand-ins for host names, addresses, users, e-mail addresses and paths: the same value always gets the same one."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import regex

from logaudit.lazy import lazy_pattern

_MOST = 100_000
"""Distinct values remembered; beyond it all share one stand-in, so that memory stays bounded."""
_STAND_IN = lazy_pattern(r"(?:host|ip|user|mail|path)-\d+")
_KEPT_HOSTS = frozenset(
    {"localhost", "localhost.localdomain", "ip6-localhost", "none", "null", "host", "true", "false", "auto", "str"}
)
_TLDS = (
    "com|net|org|io|ai|dev|cloud|app|edu|gov|mil|info|biz|internal|intern|intra|intranet|private|local|localdomain|lan|corp|home"
    "|svc|cluster|test|example|invalid|cn|de|jp|kr|uk|eu|fr|nl|ru|ca|au|ch|se|fi|dk|pl|es|br|tw|sg|hk|cz|tr|ua|nz|za|mx|ar|pt|gr|ro|hu|ie|il|ae|sa"
)
_MAIL = lazy_pattern(r"(?<![\w.+-])[\w][\w.+-]{0,63}+@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,8}")
_IPV4 = lazy_pattern(r"(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?![\w]|\.\d)")
_IPV6 = lazy_pattern(
    r"(?i)(?<![\w:.])\[?(?P<ip>[0-9a-f]{0,4}(?::[0-9a-f]{0,4}){2,7}(?:(?<=:)(?:\d{1,3}\.){3}\d{1,3})?)(?:%[\w]+)?\]?(?![\w:]|\.\d)"
)
_VERSION_BEFORE = lazy_pattern(
    r"(?i)(?:[=<>~!]=|[\w)]-|\bv|\bver(?:sion)?[ =:\"']{1,3}|[A-Za-z]/|\+"
    r"|(?:cuda|driver)[ _]|release[ =:]|(?:cudnn|nccl)[ _=:]{1,2})$"
)
_FQDN = lazy_pattern(
    rf"(?i)(?<![\w.@/\\-])(?:[a-z0-9_](?:[a-z0-9_-]{{0,62}}+)\.){{1,8}}(?:{_TLDS})(?![\w-]|\.\w|\(|/[\w.-]+\.py)"
)
_URL_HOST = lazy_pattern(r"(?<=[A-Za-z0-9]://)(?:[^\s/@\"'<>]{0,256}@)?(?P<host>[A-Za-z0-9_][A-Za-z0-9_.-]{0,253}+)")
_NAMED_HOST = lazy_pattern(
    r"(?i)(?:host(?:name|s)?|node_?(?:name|list)|pod_?name|addr(?:ess)?|server_name|fqdn)"
    r"(?:(?:\\{0,8}[\"'])?\s?[=:]\s?(?:\\{0,8}[\"'])?|(?<=--[a-z_-]{0,32})\s{1,8}(?:\\{0,8}[\"'])?)"
    r"(?:(?:tcp|http|https|ipc|zmq)://)?(?P<host>[A-Za-z][A-Za-z0-9_.-]{0,253}+)(?![(\[])"
    r"|\bssh\s{1,8}(?:-\S{1,64}+\s{1,8}){0,8}(?:[\w.-]{1,64}@)?(?P<host>[A-Za-z][A-Za-z0-9_.-]{0,253}+)"
)
_SYSLOG_HOST = lazy_pattern(
    r"(?m)^(?:<\d{1,3}>\d?\s?)?(?:[A-Z][a-z]{2}\s{1,2}\d{1,2}\s\d\d:\d\d:\d\d(?:\.\d+)?|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[\d.,]*(?:Z|[+-]\d\d:?\d\d))\s"
    r"(?P<host>[A-Za-z0-9][A-Za-z0-9_.-]{0,253}+)\s[\w./@-]{1,64}(?:\[\d+\])?:\s"
)
_POD = lazy_pattern(r"(?m)^\[?pod/(?P<host>[a-z0-9][a-z0-9.-]{0,253}+)/")
_CLOUD_HOST = lazy_pattern(r"(?<![\w.-])(?P<host>ip-\d{1,3}-\d{1,3}-\d{1,3}-\d{1,3}(?:\.[a-z0-9.-]{1,200}+)?)")
_USER_PATH = lazy_pattern(r"(?i)(?:/(?:home|users)/|\\{1,2}users\\{1,2})(?P<user>[^/\\\s\"':,;<>()\[\]]{1,64}+)")
_USER_NAMED = lazy_pattern(
    r"(?<![A-Za-z0-9_])(?:USER|LOGNAME|USERNAME|SUDO_USER|user|username)(?:\\{0,8}[\"'])?[=:]\s?(?:\\{0,8}[\"'])?"
    r"(?P<user>[A-Za-z_][\w.-]{0,63}+)"
)
_USER_AT = lazy_pattern(
    r"(?<![\w./@:-])(?P<user>[A-Za-z_][\w-]{0,31}+)@(?=[A-Za-z0-9][A-Za-z0-9.-]{0,253}+(?::[~/]|\$|#|[\s\"'):,]|$))"
)
_USER_TILDE = lazy_pattern(r"(?<![\w./])~(?P<user>[a-z_][\w-]{0,31}+)(?=/)")
_HOST_PLACES: tuple[tuple[tuple[str, ...], regex.Pattern[str]], ...] = (
    (("://",), _URL_HOST),
    (("host", "node", "pod", "addr", "server_name", "fqdn", "ssh"), _NAMED_HOST),
    (("[", ": "), _SYSLOG_HOST),
    (("pod/",), _POD),
    (("ip-",), _CLOUD_HOST),
)
"""Places that name a host, with what a line must hold (in lower case) to be looked at."""
_USER_PLACES: tuple[tuple[tuple[str, ...], regex.Pattern[str]], ...] = (
    (("/home/", "/users/", "\\users\\"), _USER_PATH),
    (("user", "logname"), _USER_NAMED),
    (("@",), _USER_AT),
    (("~",), _USER_TILDE),
)
_TLD_HINTS = tuple(f".{tld}" for tld in _TLDS.split("|"))
_MOST_KNOWN = 2000
_KEPT_USERS = frozenset({"root", "shared", "public", "none", "null", "user", "default", "git"})
_PATHS = (
    lazy_pattern(r"(?<![\w.:/<~$)\]}*%-])(?P<path>(?:/[^\s\"'`/:,;<>()\[\]{}|=&?\\*]{1,255}+){2,64}+/?)"),
    lazy_pattern(r"(?<![\w/])(?P<path>~(?:/[^\s\"'`/:,;<>()\[\]{}|=&?\\*]{1,255}+){1,64}+/?)"),
    lazy_pattern(r"(?<=[\"'=])(?P<path>/[^\s\"'`/:,;<>()\[\]{}|=&?\\*]{2,255}+/?)(?=[\"'\s,)]|$)"),
    lazy_pattern(r"(?<=file://)(?P<path>/[^\s\"'`:,;<>()\[\]{}|]{1,1024}+)"),
    lazy_pattern(r"(?P<path>(?<!\w)[A-Za-z]:\\[^\s\"'`,;<>()\[\]{}|]{1,1024}+)"),
)
_METHOD_BEFORE = lazy_pattern(r"(?:GET|POST|PUT|HEAD|DELETE|PATCH|OPTIONS)\s$")
_PUBLIC_ROOTS = ("/dev/", "/proc/", "/sys/", "/usr/", "/lib/", "/lib64/", "/bin/", "/sbin/", "/path-", "/v1/", "/v2/")
_PACKAGE_DIRS = ("/site-packages/", "/dist-packages/", "/python/sglang/", "/lib/python3")


@dataclass(slots=True)
class StandIns:
    """Gives out `host-1`, `ip-1`, `user-1`, `mail-1`, `path-1` and remembers for whom."""

    hosts: bool = False
    paths: bool = False
    given: dict[tuple[str, str], str] = field(default_factory=dict)
    """(kind, value) -> stand-in."""
    counts: dict[str, int] = field(default_factory=dict)
    """Replacements made, by kind."""
    _last: dict[str, int] = field(default_factory=dict)
    _known_hosts: set[str] = field(default_factory=set)
    _known_users: set[str] = field(default_factory=set)

    def name_for(self, kind: str, value: str) -> str:
        """The stand-in for `value`, the same one every time."""
        key = (kind, value if kind in {"user", "path"} else value.lower())
        name = self.given.get(key)
        if name is None:
            if len(self.given) >= _MOST:
                return f"{kind}-0"
            self._last[kind] = self._last.get(kind, 0) + 1
            name = self.given[key] = f"{kind}-{self._last[kind]}"
        return name

    def learn(self, text: str, limit: float) -> None:
        """Note host and user names that `text` gives in a place that names them, to replace them elsewhere too."""
        if not self.hosts:
            return
        low = text.lower()
        for hints, pattern in _HOST_PLACES:
            for begin, end in _lines_with(text, low, hints):
                for match in pattern.finditer(text, begin, end, timeout=limit):
                    host = match["host"].rstrip(".-")
                    telling = any(c.isdigit() for c in host) or "-" in host or "." in host
                    if telling and _is_private_host(host) and len(host) >= 4 and len(self._known_hosts) < _MOST_KNOWN:
                        self._known_hosts.add(host)
        for hints, pattern in _USER_PLACES:
            for begin, end in _lines_with(text, low, hints):
                for match in pattern.finditer(text, begin, end, timeout=limit):
                    user = match["user"]
                    kept = user.lower() in _KEPT_USERS or _STAND_IN.fullmatch(user)
                    if not kept and len(self._known_users) < _MOST_KNOWN:
                        self._known_users.add(user)

    def replace(self, text: str, limit: float) -> str:
        """`text` with what was asked for replaced. Raises TimeoutError when a pattern takes over `limit` seconds."""
        if self.hosts:
            text = self._replace_hosts(text, limit)
        if self.paths:
            for pattern in _PATHS:
                text = _sub_on_lines(pattern, self._path, text, ("/", "\\"), limit)
        return text

    def _replace_hosts(self, text: str, limit: float) -> str:
        text = _sub_on_lines(_MAIL, lambda m: self._stand_in("mail", m[0]), text, ("@",), limit)
        text = _IPV6.sub(self._ipv6, text, timeout=limit)
        for hints, pattern in _HOST_PLACES:
            text = _sub_on_lines(pattern, self._host_group, text, hints, limit)
        text = _sub_on_lines(_FQDN, self._fqdn, text, _TLD_HINTS, limit)
        for host in sorted(self._known_hosts, key=len, reverse=True):
            if host in text:
                known = lazy_pattern(rf"(?<![\w.-]){regex.escape(host)}(?![\w-]|\.\w)")
                text = known.sub(lambda m: self._host(m[0]), text, timeout=limit)
        text = _IPV4.sub(self._ipv4, text, timeout=limit)
        for hints, pattern in _USER_PLACES:
            text = _sub_on_lines(pattern, self._user_group, text, hints, limit)
        for user in sorted(self._known_users, key=len, reverse=True):
            if user in text:
                known = lazy_pattern(rf"(?<=[/\\]){regex.escape(user)}(?=[/\\\s\"':,;)]|$)")
                text = known.sub(lambda m: self._stand_in("user", m[0]), text, timeout=limit)
        return text

    def _stand_in(self, kind: str, value: str) -> str:
        if _STAND_IN.fullmatch(value):
            return value
        label = {
            "host": "host name",
            "ip": "IP address",
            "user": "user name",
            "mail": "e-mail address",
            "path": "path",
        }[kind]
        self.counts[label] = self.counts.get(label, 0) + 1
        return self.name_for(kind, value)

    def _host(self, host: str) -> str:
        bare = host.rstrip(".-")
        if _IPV4.fullmatch(bare):
            return host
        return self._stand_in("host", bare) + host[len(bare) :] if _is_private_host(bare) else host

    def _host_group(self, match: regex.Match[str]) -> str:
        start, end = match.span("host")
        whole = match[0]
        return whole[: start - match.start()] + self._host(match["host"]) + whole[end - match.start() :]

    def _fqdn(self, match: regex.Match[str]) -> str:
        return self._host(match[0])

    def _user_group(self, match: regex.Match[str]) -> str:
        user = match["user"]
        if user.lower() in _KEPT_USERS - {"user"} or _STAND_IN.fullmatch(user):
            return match[0]
        start, end = match.span("user")
        return match[0][: start - match.start()] + self._stand_in("user", user) + match[0][end - match.start() :]

    def _ipv4(self, match: regex.Match[str]) -> str:
        before = match.string[max(0, match.start() - 16) : match.start()]
        try:
            address = ipaddress.IPv4Address(match[0])
        except ValueError:
            return match[0]
        # 0.x is no host but may well be a release such as 0.5.9.1.
        if (
            address.is_loopback
            or match[0].startswith("0.")
            or (_VERSION_BEFORE.search(before) and not before.endswith("//"))
        ):
            return match[0]
        return self._stand_in("ip", match[0])

    def _ipv6(self, match: regex.Match[str]) -> str:
        text = match["ip"]
        try:
            address = ipaddress.IPv6Address(text)
        except ValueError:
            return match[0]
        if address.is_loopback or address.is_unspecified or not any(c.isdigit() for c in text):
            return match[0]
        return match[0].replace(text, self._stand_in("ip", str(address)))

    def _path(self, match: regex.Match[str]) -> str:
        path = match["path"]
        if path.startswith(_PUBLIC_ROOTS) and not any(part in path for part in ("/home/", "/Users/")):
            return path
        if _METHOD_BEFORE.search(match.string[max(0, match.start() - 8) : match.start()]):
            return path
        cuts = [at for at in (path.find(part) for part in _PACKAGE_DIRS) if at > 0]
        cut = min(cuts) if cuts else len(path)
        return "/" + self._stand_in("path", path[:cut].rstrip("/")) + path[cut:]


def _lines_with(text: str, low: str, hints: tuple[str, ...]) -> Iterator[tuple[int, int]]:
    """Begin and end of each line of `text` that holds one of `hints`; `low` is `text` in lower case."""
    if len(low) != len(text):
        # A few letters have two in lower case, and positions no longer agree.
        yield 0, len(text)
        return
    found: set[int] = set()
    for hint in hints:
        at = low.find(hint)
        while at >= 0:
            found.add(text.rfind("\n", 0, at) + 1)
            end = text.find("\n", at)
            at = low.find(hint, end) if end >= 0 else -1
    for begin in sorted(found):
        end = text.find("\n", begin)
        yield begin, len(text) if end < 0 else end


def _sub_on_lines(
    pattern: regex.Pattern[str],
    replacement: Callable[[regex.Match[str]], str],
    text: str,
    hints: tuple[str, ...],
    limit: float,
) -> str:
    """`pattern.sub` on the lines that hold one of `hints`; the slow patterns see few lines of a log."""
    out: list[str] = []
    at = 0
    for begin, end in _lines_with(text, text.lower(), hints):
        out += [text[at:begin], pattern.sub(replacement, text[begin:end], timeout=limit)]
        at = end
    return "".join([*out, text[at:]]) if out else text


def _is_private_host(host: str) -> bool:
    """Whether `host` names a machine that is not everybody's own."""
    if host.lower() in _KEPT_HOSTS or _STAND_IN.fullmatch(host) or host.startswith("0x"):
        return False
    return any(c.isalpha() for c in host)
