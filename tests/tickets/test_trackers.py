"""GitHub, GitLab and Jira over HTTP: what is sent, what happens when it fails, and that nothing is sent twice."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from logaudit.errors import DeliveryError
from logaudit.tickets import deliver
from logaudit.tickets.comment import markers_in
from tests.tickets.conftest import OnDisk
from tests.tickets.tracker_server import Fault, TrackerServer

SECRET = "tracker-credential-8841"


@dataclass(frozen=True)
class Kind:
    """One tracker on the server of the test."""

    ticket: str
    """Its ticket, `{url}` being the server."""
    environ: Mapping[str, str]
    files: int
    """Files that it takes."""

    def ticket_on(self, server: TrackerServer) -> str:
        return self.ticket.format(url=server.url)

    def environ_for(self, server: TrackerServer, home: Path) -> dict[str, str]:
        return {"HOME": str(home), **{name: value.format(url=server.url) for name, value in self.environ.items()}}


KINDS = {
    "github": Kind("{url}/owner/repo/issues/12", {"GH_HOST": "{url}", "GH_ENTERPRISE_TOKEN": SECRET}, 0),
    "github reference": Kind("github:owner/repo#12", {"GITHUB_SERVER_URL": "{url}", "GITHUB_TOKEN": SECRET}, 0),
    "gitlab": Kind("gitlab:group/project#12", {"GITLAB_URL": "{url}", "GITLAB_TOKEN": SECRET}, 2),
    "gitlab url": Kind("{url}/group/project/-/issues/12", {"GITLAB_URL": "{url}", "GITLAB_TOKEN": SECRET}, 2),
    "jira": Kind("jira:OPS-12", {"JIRA_URL": "{url}", "JIRA_PERSONAL_TOKEN": SECRET}, 2),
    "jira url": Kind("{url}/browse/OPS-12", {"JIRA_URL": "{url}", "JIRA_PERSONAL_TOKEN": SECRET}, 2),
}
ONE_EACH = [name for name in KINDS if " " not in name]


class Post:
    """One delivery to the server, with the credentials of its tracker."""

    def __init__(self, kind: Kind, server: TrackerServer, home: Path) -> None:
        self.kind, self.server, self.home = kind, server, home

    def __call__(self, report: OnDisk, **how: bool) -> object:
        environ = self.kind.environ_for(self.server, self.home)
        return deliver(report.document, report.path, self.kind.ticket_on(self.server), environ=environ, **how)


@pytest.fixture(params=ONE_EACH)
def kind(request: pytest.FixtureRequest) -> Kind:
    return KINDS[request.param]


@pytest.fixture
def post(kind: Kind, server: TrackerServer, waits: list[float], tmp_path: Path) -> Post:
    return Post(kind, server, tmp_path)


@pytest.mark.parametrize("name", KINDS)
def test_a_report_is_put_on_the_ticket(
    name: str, server: TrackerServer, waits: list[float], tmp_path: Path, report: OnDisk
) -> None:
    server.token = SECRET
    Post(KINDS[name], server, tmp_path)(report)
    assert len(server.comments) == 1
    assert "The KV cache is exactly as large" in server.comments[0]["body"]
    assert len(server.files) == KINDS[name].files
    if server.files:
        assert server.files[0][1] == report.path.read_bytes()
        assert json.loads(server.files[1][1])["launches"][0]["outcome"] == "ready"
        assert server.files[0][0] in server.comments[0]["body"]
    assert SECRET not in server.comments[0]["body"]


def test_attaching_again_adds_nothing(post: Post, report: OnDisk) -> None:
    post(report)
    files = list(post.server.files)
    done = post(report)
    assert done.action == "unchanged"  # type: ignore[attr-defined]
    assert len(post.server.comments) == 1
    assert post.server.files == files


def test_update_replaces_the_earlier_comment(post: Post, report: OnDisk, other_report: OnDisk) -> None:
    post.server.comments.append({"id": 7, "body": "somebody else's words", "system": False})
    post(report)
    done = post(other_report, update=True)
    assert done.action == "updated"  # type: ignore[attr-defined]
    assert [("later than before" in entry["body"]) for entry in post.server.comments] == [False, True]
    assert post.server.comments[0]["body"] == "somebody else's words"


def test_without_update_a_later_report_is_a_second_comment(post: Post, report: OnDisk, other_report: OnDisk) -> None:
    post(report)
    post(other_report)
    assert len(post.server.comments) == 2


def test_a_dry_run_contacts_nobody(post: Post, report: OnDisk) -> None:
    done = post(report, dry_run=True)
    assert post.server.requests == []
    assert done.action == "dry run"  # type: ignore[attr-defined]
    assert "The KV cache is exactly as large" in done.comment  # type: ignore[attr-defined]
    assert len(done.files) == post.kind.files  # type: ignore[attr-defined]


def test_a_rate_limit_is_waited_for(post: Post, report: OnDisk, waits: list[float]) -> None:
    post.server.faults.append(Fault(429, {"Retry-After": "17"}, method="POST"))
    post(report)
    assert waits == [17.0]
    assert len(post.server.comments) == 1


def test_a_failing_server_is_tried_again_with_longer_waits(post: Post, report: OnDisk, waits: list[float]) -> None:
    post.server.faults.extend([Fault(503), Fault(502), Fault(500)])
    post(report)
    assert waits == [1.0, 2.0, 4.0]
    assert len(post.server.comments) == 1


@pytest.mark.parametrize(
    "fault",
    [
        Fault(after=True, method="POST", sleep_s=1.5),
        Fault(after=True, method="POST"),
        Fault(504, after=True, method="POST"),
    ],
    ids=["timeout", "connection lost", "gateway timeout"],
)
@pytest.mark.parametrize("name", ["github", "jira"])
def test_a_comment_that_arrived_is_not_sent_twice(
    name: str, server: TrackerServer, waits: list[float], tmp_path: Path, report: OnDisk, fault: Fault
) -> None:
    post = Post(KINDS[name], server, tmp_path)
    post(report)
    # The files stay where they are; only the comment goes out again.
    server.comments.clear()
    before = len(server.sent("POST"))
    server.faults.append(fault)
    post(report)
    assert len(server.comments) == 1
    assert len(server.sent("POST")) == before + 1


def test_a_post_that_never_arrived_is_sent_again(post: Post, report: OnDisk) -> None:
    post.server.faults.append(Fault(method="POST"))
    post(report)
    assert len(post.server.comments) == 1
    assert len(post.server.files) == post.kind.files


@pytest.mark.parametrize(
    ("status", "said"), [(401, "wrong or has expired"), (403, "may not do this"), (404, "no such ticket")]
)
def test_a_refusal_is_final_and_says_why(
    post: Post, report: OnDisk, waits: list[float], status: int, said: str
) -> None:
    post.server.faults.append(Fault(status, message=f"no, {SECRET} is not good"))
    with pytest.raises(DeliveryError, match=said) as failure:
        post(report)
    assert waits == []
    assert post.server.comments == []
    assert failure.value.exit_code == 3
    assert str(report.path) in str(failure.value)
    assert SECRET not in str(failure.value)


def test_a_server_that_stays_away_is_given_up(post: Post, report: OnDisk, waits: list[float]) -> None:
    post.server.faults.extend([Fault(503)] * 20)
    with pytest.raises(DeliveryError, match="HTTP 503"):
        post(report)
    assert waits == [1.0, 2.0, 4.0, 8.0]
    assert report.path.exists()


def test_nobody_is_waited_for_too_long(post: Post, report: OnDisk, waits: list[float]) -> None:
    post.server.faults.append(Fault(429, {"Retry-After": "3600"}))
    with pytest.raises(DeliveryError, match="wait 3600 s"):
        post(report)
    assert waits == []


def test_a_wrong_key_is_not_printed(post: Post, report: OnDisk) -> None:
    post.server.token = "another"
    with pytest.raises(DeliveryError, match="401") as failure:
        post(report)
    assert SECRET not in str(failure.value)


def test_credentials_go_to_no_other_host(kind: Kind, server: TrackerServer, tmp_path: Path, report: OnDisk) -> None:
    environ = {"HOME": str(tmp_path)}
    environ |= {name: value.format(url="https://tracker.example") for name, value in kind.environ.items()}
    ticket = {0: "{url}/owner/repo/issues/12", 2: kind.ticket}[kind.files]
    foreign = ticket.format(url=server.url)
    if "://" not in foreign:
        foreign = f"{server.url}/browse/OPS-12" if "jira" in foreign else f"{server.url}/group/project/-/issues/12"
    with pytest.raises(DeliveryError, match="no credentials"):
        deliver(report.document, report.path, foreign, environ=environ)
    assert server.requests == []


def test_the_login_of_a_netrc_file_is_used(
    server: TrackerServer, waits: list[float], tmp_path: Path, report: OnDisk
) -> None:
    (tmp_path / ".netrc").write_text("machine 127.0.0.1 login me@example.com password from-netrc-1\n")
    environ = {"HOME": str(tmp_path), "JIRA_URL": server.url}
    deliver(report.document, report.path, "jira:OPS-12", environ=environ)
    expected = base64.b64encode(b"me@example.com:from-netrc-1").decode()
    assert {headers["Authorization"] for _, _, headers, _ in server.requests} == {f"Basic {expected}"}


def test_jira_cloud_logs_in_with_mail_and_token(
    server: TrackerServer, waits: list[float], tmp_path: Path, report: OnDisk
) -> None:
    environ = {"HOME": str(tmp_path), "JIRA_URL": server.url, "JIRA_EMAIL": "a@b.example", "JIRA_API_TOKEN": SECRET}
    deliver(report.document, report.path, "jira:OPS-12", environ=environ)
    expected = base64.b64encode(f"a@b.example:{SECRET}".encode()).decode()
    assert server.requests[0][2]["Authorization"] == f"Basic {expected}"


def test_github_s_second_limit_comes_as_403(
    server: TrackerServer, waits: list[float], tmp_path: Path, report: OnDisk
) -> None:
    server.faults.append(Fault(403, {"Retry-After": "5"}, message="You have exceeded a secondary rate limit"))
    Post(KINDS["github"], server, tmp_path)(report)
    assert waits == [5.0]


@pytest.mark.parametrize("sleep_s", [0.0, 1.5], ids=["connection lost", "timeout"])
def test_gitlab_s_note_that_arrived_is_not_sent_twice(
    server: TrackerServer, waits: list[float], tmp_path: Path, report: OnDisk, sleep_s: float
) -> None:
    # Two uploads go well, then the note's answer is lost.
    lost = Fault(after=True, method="POST", sleep_s=sleep_s)
    original = server._act

    def act(method: str, path: str, headers: dict[str, str], body: bytes) -> tuple[int, object]:
        if path.endswith("/uploads") and len(server.files) == 1:
            server.faults.append(lost)
        return original(method, path, headers, body)

    server._act = act  # type: ignore[method-assign]
    Post(KINDS["gitlab"], server, tmp_path)(report)
    assert len(server.comments) == 1
    assert len([path for path in server.sent("POST") if path.endswith("/notes")]) == 1


def test_jira_s_attachment_that_arrived_is_not_sent_twice(
    server: TrackerServer, waits: list[float], tmp_path: Path, report: OnDisk
) -> None:
    server.faults.append(Fault(after=True, method="POST"))
    Post(KINDS["jira"], server, tmp_path)(report)
    assert [name.rpartition(".")[2] for name, _ in server.files] == ["html", "json"]
    assert len(server.comments) == 1


def test_a_comment_that_may_not_be_replaced_is_followed_by_a_new_one(
    server: TrackerServer, waits: list[float], tmp_path: Path, report: OnDisk, other_report: OnDisk
) -> None:
    post = Post(KINDS["github"], server, tmp_path)
    post(report)
    server.faults.append(Fault(403, method="PATCH"))
    assert post(other_report, update=True).action == "added"  # type: ignore[attr-defined]
    assert len(server.comments) == 2


def test_the_marker_is_found_in_what_the_tracker_keeps(post: Post, report: OnDisk) -> None:
    post(report)
    assert len(markers_in(post.server.comments[0]["body"])) == 1


def test_without_a_file_the_report_is_written_when_it_fails(
    post: Post, report: OnDisk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    post.server.faults.append(Fault(404))
    with pytest.raises(DeliveryError, match="kept in logaudit-report-"):
        post(OnDisk(report.document, None))  # type: ignore[arg-type]
    assert len(list(tmp_path.glob("logaudit-report-*.html"))) == 1
