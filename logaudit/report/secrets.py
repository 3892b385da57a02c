"""Finding secrets in a text: tokens known by their shape, and values whose name or place announces one."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from time import monotonic

import regex

from logaudit.lazy import lazy_pattern
from logaudit.report.secret_names import (
    abbreviates_server_secret,
    holds_nothing,
    is_number,
    looks_random,
    strength,
    words,
)


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of a text that must not be shown."""

    start: int
    end: int
    kind: str
    """`api key`, `password`, `Hugging Face token`, `private key`, …: what the report counts."""
    learn: bool = False
    """Whether the same value is to be replaced wherever else it stands."""
    open_chars: int = 0
    """How many characters at its start are no part of that value: a user name and a colon before a password."""


_BOUNDARY = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\\u[0-9A-Fa-f]{4})|(?<=\x1b\[[0-9;]{0,8}m))"
_SHAPES = lazy_pattern(
    rf"""
    (?P<huggingface>hf_[A-Za-z0-9]{{16,}}+|api_org_[A-Za-z0-9]{{16,}}+)
  | (?P<github>gh[pousr]_[A-Za-z0-9]{{16,}}+|github_pat_[A-Za-z0-9_]{{16,}}+)
  | (?P<gitlab>gl(?:pat|dt|rt|rtr|soat|cbt|ptt|ft|imt|agent|oas|ffct|wt)-[A-Za-z0-9_.=-]{{10,}}+)
  | (?P<aws>(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{{12,}}+(?:[\s:,;/"'\\]{{1,6}}[A-Za-z0-9/+]{{30,64}}+)?)
  | (?P<google>AIza[A-Za-z0-9_-]{{30,}}+|ya29\.[A-Za-z0-9_-]{{20,}}+|GOCSPX-[A-Za-z0-9_-]{{16,}}+)
  | (?P<slack>xox[a-z](?:\.[a-z0-9]+)?-[A-Za-z0-9-]{{8,}}+|xapp-[A-Za-z0-9-]{{10,}}+
            |hooks\.slack\.com/services/[A-Za-z0-9/]{{10,}}+)
  | (?P<jwt>eyJ[A-Za-z0-9_-]{{6,}}+(?:\.[A-Za-z0-9_-]*+){{1,4}})
  | (?P<jira>ATATT3[A-Za-z0-9_=-]{{20,}}+)
  | {_BOUNDARY}(?:
        (?P<openai>sk-[A-Za-z0-9_-]{{12,}}+)
      | (?P<token>(?:sk|rk|pk|whsec)_(?:live_|test_)?[A-Za-z0-9]{{16,}}+|npm_[A-Za-z0-9]{{30,}}+
                 |pypi-[A-Za-z0-9_-]{{30,}}+
                 |nvapi-[A-Za-z0-9_-]{{20,}}+|gsk_[A-Za-z0-9]{{20,}}+|r8_[A-Za-z0-9]{{20,}}+|hvs\.[A-Za-z0-9_-]{{20,}}+
                 |dop_v1_[a-f0-9]{{40,}}+|AGE-SECRET-KEY-[A-Z0-9]{{20,}}+)
    )
    """,
    regex.VERBOSE,
)
_SHAPE_KINDS = {
    "huggingface": "Hugging Face token",
    "github": "GitHub token",
    "gitlab": "GitLab token",
    "aws": "AWS key",
    "google": "Google key",
    "slack": "Slack token",
    "jwt": "JSON web token",
    "jira": "Jira token",
    "openai": "OpenAI-style key",
    "token": "token",
}

_PEM = lazy_pattern(
    r"""
    -----BEGIN[ ](?:[A-Z0-9]+[ ]){0,4}PRIVATE[ ]KEY(?:[ ]BLOCK)?-----
    (?:
        (?:(?!-----BEGIN)[\s\S]){0,16384}?-----END[ ](?:[A-Z0-9]+[ ]){0,4}PRIVATE[ ]KEY(?:[ ]BLOCK)?-----
      | # Cut before its end: as far as it still looks like one.
        (?:(?:\\?[\s\\nrt"',|>+]|[A-Za-z-]{2,24}:[ ][^\n\\]{0,128})*+[A-Za-z0-9+/=]{16,}+)*+
        (?:[\s\\nr]*+[A-Za-z0-9+/=]{1,64})?
    )
    """,
    regex.VERBOSE,
)

_URL_LOGIN = lazy_pattern(
    r"(?<=[A-Za-z0-9+.-]://)(?P<login>(?P<user>[^\s/?\#\"'<>@:]{0,256})(?P<pass>:(?!\d{1,5}(?:[/?\#]|\b(?!@)))[^\s\"'<>]{0,512}?)?)@"
    r"(?=[A-Za-z0-9_.\[-]+(?:[:/?\#\s\"'<>,;)\]}]|$))"
)
_HTTP = lazy_pattern(r"(?i)https?://$")
_URL_QUERY = lazy_pattern(
    r"(?i)(?:[?&;]|%3F|%26|\\u0026)(?:amp;)?(?P<name>[A-Za-z0-9_.-]{1,64}?)(?:=|%3D)(?P<value>[^&\s\"'<>\#\\]{1,4096})"
)
_QUERY_SECRETS = words(
    "sig signature key code auth awsaccesskeyid password pass pwd token x-amz-signature x-amz-credential "
    "x-amz-security-token x-goog-signature x-goog-credential client_secret hmac ticket"
)

_HEADER_NAME = lazy_pattern(
    r"(?i)(?:proxy-|www-)?authorization|(?:x-)?api-?key|private-token|job-token|deploy-token|(?:set-)?cookie"
    r"|x-[a-z-]{0,32}(?:token|key|secret|auth)|ocp-apim-subscription-key"
)
_HEADER_VALUE = lazy_pattern(
    r"(?i)(?:(?P<scheme>bearer|basic|token|digest|negotiate|apikey|api-key|key|aws4-hmac-sha256)\s{1,8})?"
    r"(?P<value>[^\s\"'\\,;}\])]{1,4096}+)(?P<rest>[^\n\"']{0,4096}+)"
)
_BEARER = lazy_pattern(r"(?i)\bbearer(?:\s{1,8}|%20|\\t)(?P<value>[^\s\"'\\,;<>)]{4,4096})")
_BEARER_PROSE = words(
    "token tokens auth authentication authorization scheme header headers realm error format type credential "
    "credentials"
)
_BASIC = lazy_pattern(r"(?i)\bbasic(?:\s{1,4}|%20)(?P<value>[A-Za-z0-9+/_-]{6,4096}={0,2})")
_LOGIN_OPTION = lazy_pattern(
    r"(?<=\s)(?:-u|-U|--user|--proxy-user)(?:\s{1,8}|=)?[\"']?(?P<value>[^\s:\"'=]{1,256}+:[^\s\"']{1,512}+)"
)
_SSHPASS = lazy_pattern(r"\bsshpass\s{1,8}-p\s{0,8}[\"']?(?P<value>[^\s\"']{1,512}+)")
_NETRC = lazy_pattern(r"(?i)\blogin\s{1,8}\S{1,256}+\s{1,8}password\s{1,8}(?P<value>[^\s\"']{1,512}+)")
_ENV_ENTRY = lazy_pattern(
    r"(?i)\bname(?:\\*[\"'])?\s{0,4}[:=]\s{0,4}(?:\\*[\"'])?(?P<name>[A-Za-z_][A-Za-z0-9_-]{1,63})(?:\\*[\"'])?,?\s{1,64}"
    r"(?:\\*[\"'])?value(?:\\*[\"'])?\s{0,4}[:=]\s{0,4}(?P<q>(?:\\*[\"'])?)(?P<value>[^\s\"'\\]{1,4096})"
    r"|(?i)\bname\\*[\"']:\s{0,4}\\*[\"'](?P<name>[A-Za-z_][A-Za-z0-9_-]{1,63})\\*[\"'],\s{0,4}\\*[\"']value\\*[\"']:\s{0,4}\\*[\"'](?P<value>[^\s\"'\\]{1,4096})"
)

_TRIGGERS = (
    "key",
    "token",
    "secret",
    "passw",
    "passphrase",
    "passcode",
    "pwd",
    "credential",
    "creds",
    "auth",
    "cookie",
    "signature",
    "sas",
    "dsn",
    "webhook",
    "conn",
    "jwt",
    "bearer",
    "pat",
    "pw",
    "sig",
)
"""What a name that announces a secret holds; its letters before and after are read from the text."""
_SHAPE_HINTS = (
    "hf_",
    "api_org_",
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "ghr_",
    "github_pat_",
    "glpat-",
    "gldt-",
    "glrt-",
    "glrtr-",
    "glsoat-",
    "glcbt-",
    "glptt-",
    "glft-",
    "glimt-",
    "glagent-",
    "gloas-",
    "glffct-",
    "glwt-",
    "akia",
    "asia",
    "abia",
    "acca",
    "aiza",
    "ya29.",
    "gocspx-",
    "xox",
    "xapp-",
    "hooks.slack",
    "eyj",
    "atatt3",
    "sk-",
    "sk_",
    "rk_",
    "pk_",
    "whsec_",
    "npm_",
    "pypi-",
    "nvapi-",
    "gsk_",
    "r8_",
    "hvs.",
    "dop_v1_",
    "age-secret-key-",
)
_WORD_RUN = lazy_pattern(r"[A-Za-z0-9_-]*+")
_NAME_END = lazy_pattern(r"[A-Za-z0-9_.-]{0,48}+")
_NAME_PART = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-")
_JOINT = lazy_pattern(
    r"(?P<closing>\\{0,8}[\"'`]?)\]?[ \t]{0,8}(?P<sep>=>|:=|=(?!=)|:(?![:=/])|,(?<=[\"'`],))[ \t]{0,32}"
    r"(?:[rbfuRBFU]{1,2}(?=[\"']))?"
)
_OPTION = lazy_pattern(r"(?<![A-Za-z0-9-])--?[A-Za-z][A-Za-z0-9_.-]{1,63}+")
_OPTION_JOINT = lazy_pattern(r"=|(?:\\{0,8}[\"'])?,?(?:\s|\\(?=\s)|-(?=\s)|,(?=\s)){1,64}+")
_QUOTED = lazy_pattern(
    r"(?P<q>[\"'`])(?P<quoted>(?:\\[^\n]|(?!(?P=q))[^\\\n])*+)|(?P<q>\\+[\"'])(?P<quoted>(?:(?!(?P=q))[^\n])*+)"
)
_QUOTES = frozenset("\"'`\\")
_PLAIN_NUMBER = lazy_pattern(r"\d{1,32}+(?:\.\d{0,32}+)?(?P<more>[^\s,;:)\]}]?)")
_BARE = lazy_pattern(r"(?:(?!,\s{0,8}[A-Za-z_][\w-]{0,64}+=)[^\s\"'`&<>\\])*+")


class TooSlow(Exception):
    """A pattern needed longer than it was given; the text must be treated as a secret."""


def spans(text: str, *, seconds: float = 2.0) -> Sequence[Span]:
    """Every secret in `text`, in order, overlaps merged.

    `seconds` is the time that one pattern may take for each started MiB. Raises TooSlow past that.
    """
    if len(text) <= _SHORT:
        return _short_spans(text, seconds)
    return _spans(text, seconds * (1 + len(text) // (1 << 20)))


_SHORT = 400


@lru_cache(maxsize=16_384)
def _short_spans(text: str, limit: float) -> tuple[Span, ...]:
    """The same for a short text: a document repeats its field names and words."""
    return tuple(_spans(text, limit))


def _spans(text: str, limit: float) -> list[Span]:
    low = text.lower()
    try:
        return _merged(
            [
                *_shaped(text, low, limit),
                *_placed(text, low, limit),
                *_named(text, low, limit),
                *_options(text, low, limit),
            ]
        )
    except TimeoutError as slow:
        raise TooSlow from slow


def _of(match: regex.Match[str], group: str, kind: str, *, learn: bool = False) -> Span:
    """The span of one group of `match`."""
    return Span(match.start(group), match.end(group), kind, learn)


def _merged(found: list[Span]) -> list[Span]:
    """Overlapping spans made one; the one that starts first, then the longest, gives the kind."""
    merged: list[Span] = []
    for span in sorted(found, key=lambda s: (s.start, -s.end)):
        if span.start >= span.end:
            continue
        if merged and span.start < merged[-1].end:
            last = merged[-1]
            if span.end > last.end:
                merged[-1] = replace(last, end=span.end)
            continue
        merged.append(span)
    return merged


def _shaped(text: str, low: str, limit: float) -> Iterator[Span]:
    """Tokens that are known by their shape alone."""
    deadline = monotonic() + limit
    past = run_end = 0
    for at in _positions(low, _SHAPE_HINTS, deadline):
        if at < past:
            continue
        if low.startswith("eyj", at):
            # A run without a dot is no web token, wherever in it the search starts.
            run_end = run_end if at < run_end else _end(_WORD_RUN, text, at)
            if not text.startswith(".", run_end):
                continue
        match = _SHAPES.match(text, at, timeout=limit)
        if match:
            past = match.end()
            yield Span(at, past, _SHAPE_KINDS[str(match.lastgroup)], learn=True)
    if "-----begin" in low:
        for match in _PEM.finditer(text, timeout=limit):
            yield Span(match.start(), match.end(), "private key")


def _placed(text: str, low: str, limit: float) -> Iterator[Span]:
    """Secrets known by the place that they stand in: URLs, authorization schemes, logins."""
    if "://" in text:
        yield from _in_urls(text, limit)
    if any(sign in low for sign in ("?", "&", "%3f", "%26", "\\u0026", ";")):
        for match in _URL_QUERY.finditer(text, timeout=limit):
            name, value = match["name"], match["value"]
            known = name.lower() in _QUERY_SECRETS or strength(name) in {"strong", "weak"}
            if known and not holds_nothing(value) and not (is_number(value) and strength(name) != "strong"):
                yield _of(match, "value", "credentials in a URL", learn=strength(name) == "strong")
    if "bearer" in low:
        for match in _BEARER.finditer(text, timeout=limit):
            value = match["value"]
            if value.lower().strip(".:") not in _BEARER_PROSE and not holds_nothing(value):
                yield _of(match, "value", "authorization header", learn=len(value) >= 12)
    if "basic" in low:
        for match in _BASIC.finditer(text, timeout=limit):
            if _is_basic_login(match["value"]):
                yield _of(match, "value", "authorization header", learn=True)
    yield from _logins(text, low, limit)
    if "value" in low and "name" in low:
        for match in _ENV_ENTRY.finditer(text, timeout=limit):
            if strength(match["name"]) in {"strong", "weak"} and not holds_nothing(match["value"]):
                yield _of(match, "value", kind_of(match["name"]), learn=True)


def _in_urls(text: str, limit: float) -> Iterator[Span]:
    """`user:password@` of URLs."""
    for match in _URL_LOGIN.finditer(text, timeout=limit):
        only_user = match["pass"] is None
        if only_user and not _HTTP.search(text[max(0, match.start() - 8) : match.start()]):
            continue
        if not holds_nothing(match["login"]):
            password = len(match["pass"] or "") > 8
            start, end = match.span("login")
            open_chars = len(match["user"]) + 1 if password else 0
            yield Span(start, end, "credentials in a URL", learn=password, open_chars=open_chars)


def _logins(text: str, low: str, limit: float) -> Iterator[Span]:
    """Passwords given to curl, wget, sshpass and in netrc files."""
    if "curl" in low or "wget" in low or "http" in low:
        for match in _LOGIN_OPTION.finditer(text, timeout=limit):
            before = low[max(0, match.start() - 2048) : match.start()].rpartition("\n")[2]
            if ("curl" in before or "wget" in before or "http" in before) and not holds_nothing(match["value"]):
                open_chars = match["value"].index(":") + 1
                yield replace(_of(match, "value", "password", learn=True), open_chars=open_chars)
    for hint, pattern in (("sshpass", _SSHPASS), ("login", _NETRC)):
        if hint in low:
            for match in pattern.finditer(text, timeout=limit):
                if not holds_nothing(match["value"]):
                    yield _of(match, "value", "password", learn=True)


def _is_basic_login(value: str) -> bool:
    """Whether `value` is base64 of `user:password`."""
    try:
        return b":" in base64.b64decode(value + "=" * (-len(value) % 4), altchars=b"-_", validate=False)
    except (binascii.Error, ValueError):
        return False


def _positions(low: str, literals: tuple[str, ...], deadline: float) -> Iterator[int]:
    """Where `literals` stand in `low`, in order. Raises TooSlow past `deadline`."""
    found: list[int] = []
    for literal in literals:
        at = low.find(literal)
        while at >= 0:
            found.append(at)
            at = low.find(literal, at + len(literal))
    found.sort()
    for count, at in enumerate(found):
        if count % 1024 == 0 and monotonic() > deadline:
            raise TooSlow
        yield at


def _named(text: str, low: str, limit: float) -> Iterator[Span]:
    """Values after `name=`, `name:` or `"name":` where the name announces a secret."""
    deadline = monotonic() + limit
    values = _Values(text)
    past = 0
    for at in _positions(low, _TRIGGERS, deadline):
        if at < past:
            continue
        end = _end(_NAME_END, text, at)
        past = end
        joint = _JOINT.match(text, end)
        if joint is None:
            continue
        name = _whole_name(text, at, end)
        if is_header(name):
            span = _header_value(text, joint.end(), name)
            if span:
                yield span
                past = span.end
                continue
        span = values.secret(joint.end(), name, in_dict=bool(joint["closing"]), argument=joint["sep"] == ",")
        if span:
            yield span
            past = span.end


@lru_cache(maxsize=4096)
def is_header(name: str) -> bool:
    """Whether an HTTP header with this name carries a credential."""
    return _HEADER_NAME.fullmatch(name) is not None


def _end(pattern: regex.Pattern[str], text: str, at: int) -> int:
    match = pattern.match(text, at)
    return match.end() if match else at


def _whole_name(text: str, at: int, end: int) -> str:
    """The name that ends at `end`, with its letters before `at`, without the letter of an escape such as `\\n`."""
    floor = max(0, at - 48)
    while at > floor and text[at - 1] in _NAME_PART:
        at -= 1
    if at > 0 and text[at - 1] == "\\" and text[at] in "nrt":
        at += 1
    return text[at:end]


def _header_value(text: str, at: int, name: str) -> Span | None:
    """The secret part of a header's value that starts at `at`."""
    at += len(text[at : at + 9]) - len(text[at : at + 9].lstrip("\\\"'"))
    match = _HEADER_VALUE.match(text, at)
    if match is None or holds_nothing(match["value"]):
        return None
    scheme = (match["scheme"] or "").lower()
    if not scheme and match["value"].lower() in {"bearer", "basic", "token", "str"}:
        return None
    whole = name.lower().endswith("cookie") or scheme in {"aws4-hmac-sha256", "digest"}
    return Span(match.start("value"), match.end("rest" if whole else "value"), "authorization header")


def _options(text: str, low: str, limit: float) -> Iterator[Span]:
    """Values of command-line options, joined by `=`, a space, a continued line or an argument list."""
    if "-" not in text or not any(
        hint in low for hint in ("key", "token", "secret", "pass", "pw", "cred", "auth", "-a")
    ):
        return
    values = _Values(text)
    for match in _OPTION.finditer(text, timeout=limit):
        name = match[0]
        how = strength(name)
        if how in {"none", "mention"} and not abbreviates_server_secret(name):
            continue
        joint = _OPTION_JOINT.match(text, match.end())
        if joint is None or (text.startswith("--", joint.end()) and text[joint.end() + 2 : joint.end() + 3].isalpha()):
            continue
        span = values.secret(joint.end(), name, in_dict=False, argument=True)
        if span:
            yield span


class _Values:
    """Reads the values that stand after names in one text; each stretch of it is read once."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._bare_end = -1

    def secret(self, at: int, name: str, *, in_dict: bool, argument: bool) -> Span | None:
        """The value at `at` as a span when it is a secret.

        `in_dict`: its name is quoted; `argument`: it follows a command-line option, so that any value counts.
        """
        how = strength(name)
        if argument and how != "strong" and abbreviates_server_secret(name):
            how = "strong"
        if how == "none":
            return None
        first = self._text[at : at + 1]
        if how != "strong" and (number := _PLAIN_NUMBER.match(self._text, at)) and not number["more"]:
            return None
        if first == "[":
            return self._listed(at, name, how)
        quoted = _QUOTED.match(self._text, at) if first in _QUOTES else None
        if how == "mention" and not (in_dict and quoted):
            return None
        if quoted:
            start, end = quoted.span("quoted")
        else:
            start, end = at, self._bare(at)
        head = self._text[start : min(end, start + 256)]
        if holds_nothing(head) or (how != "strong" and is_number(head)):
            return None
        if not quoted and how == "weak":
            if head[:1] in {"/", "~"} or head.endswith((".pem", ".key", ".crt")):
                return None
            if not argument and not in_dict and not looks_random(head):
                return None
        return Span(start, end, kind_of(name), learn=how == "strong" or quoted is not None)

    def _listed(self, at: int, name: str, how: str) -> Span | None:
        end = self._text.find("]", at, at + 4096)
        inner = self._text[at + 1 : end] if end > 0 else ""
        if not inner or "\n" in inner or holds_nothing(inner):
            return None
        if how == "strong" or "'" in inner or '"' in inner:
            return Span(at + 1, end, kind_of(name))
        return None

    def _bare(self, at: int) -> int:
        """Where an unquoted value ends, closing brackets left out."""
        if at >= self._bare_end:
            self._bare_end = _end(_BARE, self._text, at)
        end = self._bare_end
        while end > at and self._text[end - 1] in ",;)]}":
            end -= 1
        return end


def kind_of(name: str) -> str:
    """What the report calls a secret with this name."""
    plain = name.lower().replace("-", "_")
    if "watermark" in plain:
        return "watermark key"
    if any(word in plain for word in ("passw", "passphrase", "pwd", "passcode")):
        return "password"
    if "api_key" in plain or "apikey" in plain or plain.strip("_") in {"api", "admin"}:
        return "api key"
    if "aws" in plain or "access_key" in plain or "accesskey" in plain:
        return "storage credential"
    if "token" in plain:
        return "token"
    return "secret"
