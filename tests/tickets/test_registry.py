"""Which tracker a ticket belongs to, where its credentials come from, and what is said when they are missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from logaudit.errors import DeliveryError
from logaudit.tickets import http
from logaudit.tickets.credentials import base_url, from_gh_file, from_netrc, same_place
from logaudit.tickets.registry import open_ticket, trackers, without_login

ENVIRON = {
    "JIRA_URL": "https://ops.example/jira",
    "JIRA_PERSONAL_TOKEN": "t1",
    "GITHUB_TOKEN": "t2",
    "GITLAB_URL": "https://git.example/sub",
    "GITLAB_TOKEN": "t3",
    "REDMINE_URL": "https://tasks.example/redmine",
    "REDMINE_API_KEY": "t4",
}


@pytest.mark.parametrize(
    ("text", "name", "url"),
    [
        ("jira:OPS-123", "jira:OPS-123", "https://ops.example/jira/browse/OPS-123"),
        ("https://ops.example/jira/browse/OPS-123", "jira:OPS-123", "https://ops.example/jira/browse/OPS-123"),
        ("https://ops.example/jira/browse/OPS-123?x=1#c", "jira:OPS-123", "https://ops.example/jira/browse/OPS-123"),
        (
            "https://ops.example/jira/secure/RapidBoard.jspa?selectedIssue=OPS-9",
            "jira:OPS-9",
            "https://ops.example/jira/browse/OPS-9",
        ),
        ("github:owner/repo#12", "github:owner/repo#12", "https://github.com/owner/repo/issues/12"),
        ("https://github.com/owner/repo/pull/12", "github:owner/repo#12", "https://github.com/owner/repo/issues/12"),
        (
            "https://github.com/owner/re.po/issues/12#issuecomment-1",
            "github:owner/re.po#12",
            "https://github.com/owner/re.po/issues/12",
        ),
        (
            "gitlab:group/sub/project#12",
            "gitlab:group/sub/project#12",
            "https://git.example/sub/group/sub/project/-/issues/12",
        ),
        (
            "gitlab:group/project!7",
            "gitlab:group/project!7",
            "https://git.example/sub/group/project/-/merge_requests/7",
        ),
        (
            "https://git.example/sub/group/project/-/issues/12",
            "gitlab:group/project#12",
            "https://git.example/sub/group/project/-/issues/12",
        ),
        ("redmine:123", "redmine:123", "https://tasks.example/redmine/issues/123"),
        ("https://tasks.example/redmine/issues/123", "redmine:123", "https://tasks.example/redmine/issues/123"),
    ],
)
def test_a_ticket_is_recognised_by_its_form(text: str, name: str, url: str) -> None:
    ticket = open_ticket(text, ENVIRON)
    assert (ticket.name, ticket.url) == (name, url)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("OPS-123", "names no ticket"),
        ("trac:5", "no such tracker"),
        ("jira:nonsense", "is no Jira key"),
        ("github:owner#12", "is no GitHub issue"),
        ("gitlab:project#12", "is no GitLab issue"),
        ("redmine:abc", "is no Redmine issue"),
        ("https://example.com/something/else", "no tracker knows this URL"),
        ("", "names no ticket"),
    ],
)
def test_what_is_no_ticket_is_refused_with_the_right_form(text: str, said: str) -> None:
    with pytest.raises(DeliveryError, match=said) as failure:
        open_ticket(text, ENVIRON)
    assert failure.value.do
    assert failure.value.exit_code == 3


@pytest.mark.parametrize("text", ["jira:OPS-1", "github:o/r#1", "gitlab:g/p#1", "redmine:1"])
def test_without_credentials_the_variables_are_named(text: str, tmp_path: Path) -> None:
    with pytest.raises(DeliveryError, match="no credentials") as failure:
        open_ticket(text, {"HOME": str(tmp_path)})
    assert text.split(":")[0].upper()[:2] in failure.value.do.upper()


def test_the_trackers_are_entry_points() -> None:
    assert {"github", "gitlab", "jira", "redmine"} <= set(trackers())


def test_a_tracker_of_another_package_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    info = tmp_path / "acme_tracker-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-tracker\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[logaudit.tickets]\nacme = acme_tracker:AcmeTracker\n")
    (tmp_path / "acme_tracker.py").write_text(
        "class AcmeTracker:\n"
        "    def from_reference(self, reference, environ):\n"
        "        return f'acme ticket {reference}'\n"
        "    def from_url(self, url, environ):\n"
        "        return None\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    assert open_ticket("acme:77", {}) == "acme ticket 77"


def test_netrc(tmp_path: Path) -> None:
    (tmp_path / "own").write_text("machine tasks.example login me password pw-1\n")
    environ = {"NETRC": str(tmp_path / "own"), "HOME": str(tmp_path)}
    assert from_netrc("https://tasks.example/redmine", environ) == ("me", "pw-1")
    assert from_netrc("https://other.example", environ) is None


def test_a_netrc_that_cannot_be_read_says_which(tmp_path: Path) -> None:
    (tmp_path / ".netrc").write_text("machine\nnonsense pw-1 pw-1\n")
    with pytest.raises(DeliveryError, match="netrc") as failure:
        from_netrc("https://tasks.example", {"HOME": str(tmp_path)})
    assert "pw-1" not in str(failure.value)


def test_the_file_of_github_s_command(tmp_path: Path) -> None:
    folder = tmp_path / ".config" / "gh"
    folder.mkdir(parents=True)
    (folder / "hosts.yml").write_text(
        "ghe.example:\n    user: me\n    oauth_token: gho_enterprise\ngithub.com:\n    oauth_token: gho_public\n"
    )
    environ = {"HOME": str(tmp_path)}
    assert from_gh_file("github.com", environ) == "gho_public"
    assert from_gh_file("ghe.example", environ) == "gho_enterprise"
    assert from_gh_file("evil.example", environ) is None


def test_base_urls() -> None:
    assert base_url("ghe.example") == "https://ghe.example"
    assert base_url("http://me:pw@h:8080/x/") == "http://h:8080/x"
    assert same_place("https://H.example/x", "https://h.example")
    assert not same_place("http://h.example", "https://h.example")
    assert not same_place("https://h.example:1", "https://h.example:2")
    assert without_login("https://me:pw@h/x?token=1") == "https://h/x"


class TestAnswers:
    def test_retry_after_as_a_number(self) -> None:
        assert http.answered(429, {"retry-after": "12"}).wait_s == 12.0

    def test_retry_after_as_a_date(self) -> None:
        wait = http.wait_of({"Retry-After": "Fri, 01 Jan 2100 00:00:00 GMT"})
        assert wait is not None
        assert wait > 10**9

    def test_retry_after_that_says_nothing(self) -> None:
        assert http.wait_of({"Retry-After": "soon"}) is None

    def test_a_used_up_quota_is_busy_not_forbidden(self) -> None:
        assert http.answered(403, {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1"}).kind == "busy"
        assert http.answered(403, {}).kind == "refused"

    def test_a_reason_is_shown_without_secrets(self) -> None:
        problem = http.answered(422, {}, "bad pw-4711 and hf_abcdefghijklmnopqrstuvwx", secrets=("pw-4711",))
        assert "4711" not in problem.what
        assert "hf_abc" not in problem.what
        assert "bad" in problem.what
