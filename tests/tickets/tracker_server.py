"""A small server that answers as GitHub, GitLab and Jira document it, and fails on demand."""

from __future__ import annotations

import email
import email.policy
import json
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote

import regex


@dataclass
class Fault:
    """How one coming request goes wrong."""

    status: int = 0
    """Answer with this status; 0: no answer at all."""
    headers: Mapping[str, str] = field(default_factory=dict)
    after: bool = False
    """The request is carried out first."""
    sleep_s: float = 0.0
    """With status 0: how long nothing is answered; 0 closes the connection at once."""
    method: str = ""
    """Only requests of this method; any when empty."""
    message: str = "failed"


class TrackerServer:
    """Comments and files of one ticket, kept as each of the three trackers keeps them."""

    def __init__(self) -> None:
        self.comments: list[dict[str, Any]] = []
        self.files: list[tuple[str, bytes]] = []
        self.requests: list[tuple[str, str, dict[str, str], bytes]] = []
        self.faults: deque[Fault] = deque()
        self.token = ""
        """When set, requests without it in a header are refused."""
        self.comment_limit = 10**9
        self._ids = iter(range(1001, 10**6))
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                outer._answer(self, body)

            do_GET = do_POST = do_PUT = do_PATCH = do  # noqa: N815

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                return

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def sent(self, method: str) -> list[str]:
        """Paths of the requests with this method."""
        return [path for how, path, _, _ in self.requests if how == method]

    def _answer(self, handler: BaseHTTPRequestHandler, body: bytes) -> None:
        method, path = handler.command, handler.path.split("?")[0]
        self.requests.append((method, path, dict(handler.headers), body))
        fault = self.faults[0] if self.faults and self.faults[0].method in ("", method) else None
        if fault:
            self.faults.popleft()
        if self.token and not any(self.token in value for value in handler.headers.values()):
            return self._write(handler, 401, {"message": "Bad credentials"}, {})
        status, answer = 200, {}
        if fault is None or fault.after:
            status, answer = self._act(method, unquote(path), dict(handler.headers), body)
        if fault is None:
            return self._write(handler, status, answer, {})
        if fault.status:
            return self._write(handler, fault.status, {"message": fault.message}, dict(fault.headers))
        time.sleep(fault.sleep_s)
        handler.close_connection = True
        return None

    def _write(self, handler: BaseHTTPRequestHandler, status: int, answer: Any, headers: dict[str, str]) -> None:
        data = b"" if status == 204 else json.dumps(answer).encode()
        handler.send_response(status)
        for name, value in {"Content-Type": "application/json", "Content-Length": str(len(data)), **headers}.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(data)

    def _act(self, method: str, path: str, headers: dict[str, str], body: bytes) -> tuple[int, Any]:
        routes: list[tuple[str, str, Callable[..., tuple[int, Any]]]] = [
            # GitHub Enterprise: REST v3.
            ("GET", "/api/v3/repos/owner/repo/issues/12", lambda: (200, self._github_issue())),
            ("GET", "/api/v3/repos/owner/repo/issues/12/comments", lambda: (200, self._github_comments())),
            ("POST", "/api/v3/repos/owner/repo/issues/12/comments", lambda: self._add(body, 201)),
            (
                "GET",
                r"/api/v3/repos/owner/repo/issues/comments/(\d+)",
                lambda key: (200, self._github(self._by_id(key))),
            ),
            ("PATCH", r"/api/v3/repos/owner/repo/issues/comments/(\d+)", lambda key: self._edit(key, body)),
            # GitLab: REST v4.
            ("GET", "/api/v4/projects/group/project/issues/12/notes", lambda: (200, self.comments)),
            ("POST", "/api/v4/projects/group/project/issues/12/notes", lambda: self._add(body, 201)),
            ("PUT", r"/api/v4/projects/group/project/issues/12/notes/(\d+)", lambda key: self._edit(key, body)),
            ("POST", "/api/v4/projects/group/project/uploads", lambda: self._gitlab_upload(headers, body)),
            # Jira: REST v2.
            ("GET", "/rest/api/2/issue/OPS-12/comment", lambda: (200, self._jira_comments())),
            ("POST", "/rest/api/2/issue/OPS-12/comment", lambda: self._add(body, 201)),
            ("GET", r"/rest/api/2/issue/OPS-12/comment/(\d+)", lambda key: (200, self._jira(self._by_id(key)))),
            ("PUT", r"/rest/api/2/issue/OPS-12/comment/(\d+)", lambda key: self._edit(key, body)),
            ("GET", "/rest/api/2/issue/OPS-12", lambda: (200, self._jira_issue())),
            ("POST", "/rest/api/2/issue/OPS-12/attachments", lambda: self._jira_attach(headers, body)),
        ]
        for how, pattern, act in routes:
            match = regex.fullmatch(pattern, path)
            if how == method and match:
                return act(*match.groups())
        return 404, {"message": "Not Found"}

    def _add(self, body: bytes, status: int) -> tuple[int, Any]:
        text = json.loads(body)["body"]
        if len(text) > self.comment_limit:
            return 422, {"message": "body is too long"}
        self.comments.append({"id": next(self._ids), "body": text, "system": False})
        return status, self._github(self.comments[-1])

    def _edit(self, key: str, body: bytes) -> tuple[int, Any]:
        entry = self._by_id(key)
        entry["body"] = json.loads(body)["body"]
        return 200, self._github(entry)

    def _by_id(self, key: str) -> dict[str, Any]:
        return next(entry for entry in self.comments if str(entry["id"]) == key)

    def _github(self, entry: dict[str, Any]) -> dict[str, Any]:
        base = f"{self.url}/api/v3/repos/owner/repo/issues"
        return {**entry, "url": f"{base}/comments/{entry['id']}", "self": f"{self.url}/rest/api/2/x"}

    def _github_issue(self) -> dict[str, Any]:
        base = f"{self.url}/api/v3/repos/owner/repo/issues/12"
        return {"number": 12, "url": base, "comments_url": f"{base}/comments", "id": 1}

    def _github_comments(self) -> list[dict[str, Any]]:
        return [self._github(entry) for entry in self.comments]

    def _gitlab_upload(self, headers: dict[str, str], body: bytes) -> tuple[int, Any]:
        name, data = _form_file(headers, body)
        self.files.append((name, data))
        url = f"/uploads/{'0' * 31}{len(self.files)}/{name}"
        return 201, {"alt": name, "url": url, "full_path": f"/-/project/1{url}", "markdown": f"[{name}]({url})"}

    def _jira(self, entry: dict[str, Any]) -> dict[str, Any]:
        key = entry["id"]
        return {"id": str(key), "self": f"{self.url}/rest/api/2/issue/OPS-12/comment/{key}", "body": entry["body"]}

    def _jira_comments(self) -> dict[str, Any]:
        entries = [self._jira(entry) for entry in self.comments]
        return {"startAt": 0, "maxResults": 100, "total": len(entries), "comments": entries}

    def _jira_issue(self) -> dict[str, Any]:
        attachments = [
            {
                "id": str(number),
                "filename": name,
                "size": len(data),
                "self": f"{self.url}/rest/api/2/attachment/{number}",
            }
            for number, (name, data) in enumerate(self.files)
        ]
        url = f"{self.url}/rest/api/2/issue/12"
        return {"id": "12", "key": "OPS-12", "self": url, "fields": {"attachment": attachments}}

    def _jira_attach(self, headers: dict[str, str], body: bytes) -> tuple[int, Any]:
        if headers.get("X-Atlassian-Token") != "no-check":
            return 403, {"message": "XSRF check failed"}
        name, data = _form_file(headers, body)
        self.files.append((name, data))
        return 200, [{"id": str(len(self.files)), "filename": name, "size": len(data), "self": f"{self.url}/x"}]


def _form_file(headers: dict[str, str], body: bytes) -> tuple[str, bytes]:
    """Name and content of the file in a multipart form."""
    kind = next(value for name, value in headers.items() if name.lower() == "content-type")
    whole = email.message_from_bytes(b"Content-Type: " + kind.encode() + b"\r\n\r\n" + body, policy=email.policy.HTTP)
    part = next(part for part in whole.iter_parts() if part.get_filename())
    return str(part.get_filename()), part.get_payload(decode=True) or b""
