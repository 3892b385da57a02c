"""A redacted copy of a log has the same lines and gives the same report."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import msgspec
import pytest

import logaudit
from logaudit.report.document import Document
from logaudit.report.redact import UNCHECKED, Redactor
from logaudit.report.redact_log import CHUNK_CHARS, redact_log, wrapped_at
from tests.conftest import ROOT, TEST_ALL, shared_files

FIXTURES = sorted((ROOT / "fixtures").glob("*.log"))
ORACLE = shared_files("oracle/*.log")
SAMPLED = ORACLE if TEST_ALL else ORACLE[::30]
SECRETS = {"api_key": "open sesame-77", "admin_api_key": "admin'key\"88", "ssl_keyfile_password": "pass word-99"}


def copy_of(data: bytes, redactor: Redactor | None = None, block: int = 1 << 16) -> bytes:
    def read() -> list[bytes]:
        return [data[at : at + block] for at in range(0, len(data), block)]

    return b"".join(redact_log(read, redactor or Redactor()))


def with_secrets(data: bytes) -> bytes:
    """The log with every secret argument of its release set, in the spelling of Python's repr, and lines that leak."""
    text = data.decode()
    for name, value in SECRETS.items():
        text = text.replace(f"{name}=None", f"{name}={value!r}").replace(f"'{name}': None", f"'{name}': {value!r}")
    return (text + "HTTP 401 for Bearer open sesame-77 hf_abcdefghijklmnopqrstuvwxyz\n").encode()


def comparable(document: Document) -> dict[str, Any]:
    """A document without its file's name and size, and without what was redacted in it."""
    plain: dict[str, Any] = msgspec.to_builtins(document)
    plain.pop("redacted")
    for source in plain["sources"]:
        source["name"] = source["bytes"] = None
    return plain


def same_report(log: Path, tmp_path: Path) -> None:
    original, copy = tmp_path / "original.log", tmp_path / "copy.log"
    original.write_bytes(with_secrets(log.read_bytes()))
    copy.write_bytes(copy_of(original.read_bytes()))
    for value in SECRETS.values():
        assert value.encode() not in copy.read_bytes()
    assert b"hf_abc" not in copy.read_bytes()
    assert comparable(logaudit.audit([str(copy)])) == comparable(logaudit.audit([str(original)]))


@pytest.mark.parametrize("log", FIXTURES, ids=lambda log: log.name)
def test_a_copy_gives_the_same_report(log: Path, tmp_path: Path) -> None:
    same_report(log, tmp_path)


@pytest.mark.parametrize("log", SAMPLED, ids=lambda log: log.name)
def test_a_copy_of_an_oracle_log_gives_the_same_report(log: Path, tmp_path: Path) -> None:
    same_report(log, tmp_path)


def test_an_oracle_log_without_secrets_is_copied_byte_for_byte(shared_dir: Path) -> None:
    logs = sorted((shared_dir / "oracle").glob("*.log"))[:: 1 if TEST_ALL else 4]
    assert logs
    assert [log.name for log in logs if copy_of(log.read_bytes()) != log.read_bytes()] == []


def test_lines_stay_where_they_are() -> None:
    key = "-----BEGIN PRIVATE KEY-----\n" + "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo=\n" * 3 + "-----END PRIVATE KEY-----"
    clean = copy_of(f"first\n{key}\nlast, api_key='secret-1'\n".encode()).decode()
    assert clean.count("\n") == 7
    assert clean.startswith("first\n")
    assert clean.endswith("last, api_key='REDACTED'\n")
    assert "QUJD" not in clean


def test_a_secret_is_replaced_before_the_line_that_gives_it_away() -> None:
    clean = copy_of(b"GET /x?y=marigold-5\nserver_args=ServerArgs(api_key='marigold-5')\n")
    assert b"marigold" not in clean


@pytest.mark.parametrize("shift", range(0, 60, 7))
def test_a_secret_on_the_border_of_two_stretches_is_found(shift: int) -> None:
    lines = "x" * 99 + "\n"
    before = lines * (CHUNK_CHARS // 100) + "y" * shift + "\n"
    log = f"{before}python -m sglang.launch_server \\\n  --api-key \\\n  marigold-5 \\\n  --tp 8\n{lines * 50}"
    clean = copy_of(log.encode(), block=4096)
    assert b"marigold" not in clean
    assert clean.count(b"\n") == log.count("\n")


def test_a_key_on_the_border_of_two_stretches_is_found() -> None:
    lines = ("x" * 99 + "\n") * (CHUNK_CHARS // 100)
    key = (
        "-----BEGIN RSA PRIVATE KEY-----\n"
        + ("QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo1" * 2 + "\n") * 20
        + "-----END RSA PRIVATE KEY-----\n"
    )
    for cut in range(0, len(key), 311):
        clean = copy_of((lines[cut:] + key + lines).encode(), block=1 << 14)
        assert b"QUJD" not in clean


def test_lines_cut_by_a_terminal_keep_their_width() -> None:
    text = (
        "server_args=ServerArgs(model_path='/m', "
        + "max_total_tokens=None, " * 12
        + "api_key='marigold-5-and-more', tp_size=8)"
    )
    for start in range(0, 80, 3):
        whole = " " * start + text
        cut = "\n".join(whole[at : at + 80] for at in range(0, len(whole), 80)) + "\n"
        assert wrapped_at(cut) == 80
        clean = copy_of(cut.encode()).decode()
        assert [len(line) for line in clean.split("\n")] == [len(line) for line in cut.split("\n")]
        assert "marigold" not in clean.replace("\n", "")
        assert "tp_size=8" in clean.replace("\n", "")


def test_bytes_that_are_no_text_come_through() -> None:
    data = b"caf\xe9 \xff\xfe\x00 Load weight begin.\r\napi_key='marigold-5'\r\n"
    assert copy_of(data) == data.replace(b"marigold-5", b"REDACTED")


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf_16_stays_utf_16(encoding: str) -> None:
    text = "\ufeffapi_key='marigold-5'\n"
    assert copy_of(text.encode(encoding)) == text.replace("marigold-5", "REDACTED").encode(encoding)


def test_only_the_slow_line_is_withheld(monkeypatch: pytest.MonkeyPatch) -> None:
    redactor = Redactor()
    text, learn = redactor.text, redactor.learn
    monkeypatch.setattr(redactor, "learn", lambda value: -1 if "slow" in value else learn(value))
    monkeypatch.setattr(redactor, "text", lambda value: UNCHECKED if "slow" in value else text(value))
    assert copy_of(b"one\nslow\nthree\n", redactor).decode().split("\n") == ["one", UNCHECKED, "three", ""]


def test_names_and_addresses_in_a_log() -> None:
    log = b"dist_init_addr='gpu-7.lan:5000'\n[10.1.2.3] /home/alice/models and gpu-7.lan\n"
    assert copy_of(log, Redactor(hosts=True)) == (
        b"dist_init_addr='host-1:5000'\n[ip-1] /home/user-1/models and host-1\n"
    )


def test_an_empty_log() -> None:
    assert copy_of(b"") == b""


def test_memory_does_not_grow_with_the_log() -> None:
    import tracemalloc

    plain = b"[2026-11-29 13:37:37 TP0] Load weight begin. avail mem=138.52 GB\n" * 1000
    line = plain + b"api_key='marigold-5'\n"

    def peak(blocks: int) -> int:
        sink = io.BytesIO()
        tracemalloc.start()
        for part in redact_log(lambda: (line for _ in range(blocks)), Redactor()):
            sink.seek(0)
            sink.write(part)
        highest = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return highest

    # 8 and 24 times 66 kB: the stretches looked at are of 262 kB.
    assert peak(24) < 1.5 * peak(8)
