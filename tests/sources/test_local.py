"""Files, directories, globs, standard input: what is found and what is said when it is not."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from logaudit.errors import SourceError
from logaudit.sources import SCHEMES, Source, open_sources

LOG = b"".join(
    b"[2026-01-02 03:04:%02d TP0] Load weight begin. avail mem=%d.57 GB\n" % (n % 60, n) for n in range(5000)
)

COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "zstd": lambda data: zstandard.ZstdCompressor().compress(data),
    "zstd-unsized": lambda data: zstandard.ZstdCompressor(write_content_size=False, write_checksum=True).compress(data),
    "xz": lzma.compress,
    "bzip2": bz2.compress,
}


def content(source: Source) -> bytes:
    return b"".join(source.blocks())


def notes(source: Source) -> list[str]:
    return list(source.notes)  # type: ignore[attr-defined]


def test_several_paths_come_in_the_order_given(tmp_path: Path) -> None:
    for name in ("b.log", "a.log"):
        (tmp_path / name).write_bytes(name.encode())
    sources = open_sources([str(tmp_path / "b.log"), str(tmp_path / "a.log"), str(tmp_path / "b.log")])
    assert [content(source) for source in sources] == [b"b.log", b"a.log"]


def test_a_directory_gives_its_logs_sorted_without_hidden_and_binary_files(tmp_path: Path) -> None:
    (tmp_path / "node1").mkdir()
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "x.log").write_text("no")
    (tmp_path / ".hidden.log").write_text("no")
    (tmp_path / "z.log").write_text("z")
    (tmp_path / "node1" / "server.log.1").write_text("one")
    (tmp_path / "node1" / "server.log.2.gz").write_bytes(gzip.compress(b"two"))
    (tmp_path / "node1" / "slurm-1234.out").write_text("three")
    (tmp_path / "node1" / "output").write_text("four")
    (tmp_path / "node1" / "model.safetensors").write_bytes(bytes(range(256)) * 10)
    (tmp_path / "node1" / "launch.py").write_text("print()")
    (tmp_path / "node1" / "empty.log").write_text("")
    names = [Path(source.name).name for source in open_sources([str(tmp_path)])]
    assert names == ["output", "server.log.1", "server.log.2.gz", "slurm-1234.out", "z.log"]


def test_a_glob_is_taken_also_when_the_shell_left_it_quoted(tmp_path: Path) -> None:
    for name in ("rank2.log", "rank1.log", "other.txt"):
        (tmp_path / name).write_text(name)
    names = [Path(source.name).name for source in open_sources([str(tmp_path / "rank*.log")])]
    assert names == ["rank1.log", "rank2.log"]


def test_a_file_whose_name_holds_glob_characters_is_that_file(tmp_path: Path) -> None:
    path = tmp_path / "server[1].log"
    path.write_text("x")
    (tmp_path / "server1.log").write_text("y")
    assert [content(source) for source in open_sources([str(path)])] == [b"x"]


def test_a_file_address(tmp_path: Path) -> None:
    path = tmp_path / "a b.log"
    path.write_text("x")
    assert [content(source) for source in open_sources([path.as_uri()])] == [b"x"]


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("missing.log", "there is no such file"),
        ("*.nothing", "no file matches this pattern"),
        ("empty", "no logs in this directory"),
        ("x.log/y", "there is no such file"),
    ],
)
def test_an_argument_that_names_nothing_is_refused(tmp_path: Path, argument: str, message: str) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "x.log").write_text("x")
    with pytest.raises(SourceError, match=message) as caught:
        open_sources([str(tmp_path / argument)])
    assert "\n" not in str(caught.value)
    assert argument in str(caught.value)


def test_an_unknown_scheme_is_refused_without_its_password() -> None:
    with pytest.raises(SourceError, match="gopher://") as caught:
        open_sources(["gopher://me:secret@host/log"])
    assert "secret" not in str(caught.value)


def test_no_argument_is_refused() -> None:
    with pytest.raises(SourceError, match="no log was named"):
        open_sources([])


@pytest.mark.parametrize("prefix", sorted(SCHEMES))
def test_every_scheme_has_its_module(prefix: str) -> None:
    module = __import__(SCHEMES[prefix], fromlist=["open_argument"])
    assert callable(module.open_argument)


def test_a_file_that_cannot_be_read_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "server.log"
    path.write_text("x")
    path.chmod(0)
    if os.access(path, os.R_OK):

        def refuse(*_: object, **__: object) -> object:
            raise PermissionError(13, "Permission denied", str(path))

        monkeypatch.setattr("logaudit.sources.local.open", refuse, raising=False)
    with pytest.raises(SourceError, match="permission denied"):
        content(open_sources([str(path)])[0])


@pytest.mark.parametrize("kind", COMPRESS)
@pytest.mark.parametrize("form", ["one", "two members", "padded", "empty member after"])
def test_compressed_by_content_whatever_the_name(tmp_path: Path, kind: str, form: str) -> None:
    packed = COMPRESS[kind](LOG)
    data, expected = {
        "one": (packed, LOG),
        "two members": (packed + packed, LOG + LOG),
        "padded": (packed + bytes(512), LOG),
        "empty member after": (packed + COMPRESS[kind](b""), LOG),
    }[form]
    path = tmp_path / "server.log"
    path.write_bytes(data)
    source = open_sources([str(path)])[0]
    assert content(source) == expected
    assert notes(source) == []


@pytest.mark.parametrize("kind", COMPRESS)
def test_a_cut_stream_gives_what_came_before_and_the_offset(tmp_path: Path, kind: str) -> None:
    noisy = b"".join(os.urandom(30).hex().encode() + b"\n" for _ in range(60_000))
    packed = COMPRESS[kind](noisy)
    cut = len(packed) * 2 // 3
    path = tmp_path / "server.log"
    path.write_bytes(packed[:cut])
    source = open_sources([str(path)])[0]
    got = content(source)
    assert noisy.startswith(got)
    assert len(got) > len(noisy) // 4
    assert [f"breaks off at byte {cut:,}" in note for note in notes(source)] == [True]


@pytest.mark.parametrize("kind", COMPRESS)
def test_garbage_after_the_end_is_noted(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "server.log"
    path.write_bytes(COMPRESS[kind](LOG) + b"not compressed at all, and long enough")
    source = open_sources([str(path)])[0]
    assert content(source) == LOG
    assert len(notes(source)) == 1


@pytest.mark.parametrize("kind", COMPRESS)
def test_a_stream_with_nothing_usable_is_an_error(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "server.log"
    path.write_bytes(COMPRESS[kind](LOG)[:12])
    with pytest.raises(SourceError, match=r"breaks off|damaged"):
        content(open_sources([str(path)])[0])


@pytest.mark.parametrize("kind", COMPRESS)
def test_a_bomb_comes_in_bounded_blocks(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "server.log"
    path.write_bytes(COMPRESS[kind](bytes(64 << 20)))
    sizes = [len(block) for block in open_sources([str(path)])[0].blocks()]
    assert sum(sizes) == 64 << 20
    assert max(sizes) <= 2 << 20


def test_a_file_that_grows_is_read_to_its_size_at_open(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    path.write_bytes(LOG)
    source = open_sources([str(path)])[0]
    blocks = source.blocks()
    got = next(blocks)
    with path.open("ab") as file:
        file.write(b"later\n")
    got += b"".join(blocks)
    assert got == LOG
    assert notes(source) == [f"the file grew while it was read; its first {len(LOG):,} bytes were read"]


def test_a_named_pipe_is_read_in_order(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=(gzip.compress(LOG),))
    writer.start()
    got = content(open_sources([str(path)])[0])
    writer.join()
    assert got == LOG


@pytest.mark.parametrize("data", [LOG, gzip.compress(LOG)], ids=["plain", "gzip"])
def test_standard_input(data: bytes) -> None:
    program = (
        "import sys; from logaudit.sources import open_sources\n"
        "for block in open_sources(['-'])[0].blocks(): sys.stdout.buffer.write(block)"
    )
    ran = subprocess.run([sys.executable, "-c", program], input=data, capture_output=True, check=True)
    assert ran.stdout == LOG
