"""The HTML report in a real browser: no sideways scrolling, both colour schemes, pages for the printer."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from html import unescape
from itertools import pairwise
from pathlib import Path

import pytest

from logaudit.report.document import Document
from logaudit.report.render import render

from . import samples

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--disable-dev-shm-usage",
)
TIMEOUT_S = 120


@pytest.fixture(scope="session")
def chromium() -> str:
    """The browser that CI installs: required there, optional elsewhere."""
    named = os.environ.get("LOGAUDIT_CHROMIUM")
    found = named or shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if not found:
        reason = "no Chromium is installed: .ci/services/chromium.sh installs it"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    return found


def run(chromium: str, folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        [chromium, *FLAGS, f"--user-data-dir={folder / 'profile'}", *arguments],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=True,
    )
    return done.stdout


MEASURE = """
const shown = e => getComputedStyle(e).display !== 'none';
const sticksOut = e => !e.closest('.scroll') && !e.closest('svg') && e.getBoundingClientRect().width > 0
  && e.getBoundingClientRect().right > innerWidth + 1;
const inPicture = e => {
  const box = e.getBoundingClientRect(), picture = e.closest('svg').getBoundingClientRect();
  return [e.textContent, box.left - picture.left, picture.right - box.right];
};
const span = e => [e.getBoundingClientRect().left, e.getBoundingClientRect().right];
addEventListener('load', () => setTimeout(() => parent.postMessage(JSON.stringify({
  inner: innerWidth,
  wide: document.documentElement.scrollWidth,
  over: [...document.querySelectorAll('body *')].filter(sticksOut).map(e => e.outerHTML.slice(0, 120)),
  boxes: [...document.querySelectorAll('svg text')].filter(shown).map(inPicture),
  labels: [...document.querySelectorAll('svg.bar')].map(p => [...p.querySelectorAll('.label')].filter(shown).map(span)),
}), '*'), 50));
"""


def measured(chromium: str, tmp_path: Path, document: Document, width: int) -> dict:
    """What a browser makes of the report in a window `width` pixels wide.

    The policy of the report forbids every script, so the copy that is measured has none; a frame gives any width.
    """
    page = render(document, "html")
    assert page.count('<meta http-equiv="Content-Security-Policy"') == 1
    page = re.sub(r"<meta http-equiv=\"Content-Security-Policy\"[^>]*>", f"<script>{MEASURE}</script>", page)
    (tmp_path / "page.html").write_text(page)
    (tmp_path / "frame.html").write_text(
        "<!doctype html><body style='margin:0'>"
        f"<iframe src=page.html width={width} height=900 style='border:0'></iframe>"
        "<script>addEventListener('message', e => { document.title = e.data; })</script>"
    )
    dom = run(chromium, tmp_path, "--virtual-time-budget=5000", "--dump-dom", (tmp_path / "frame.html").as_uri())
    title = re.search(r"<title>(.*?)</title>", dom, re.DOTALL)
    assert title, dom[:500]
    return json.loads(unescape(title.group(1)))


@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.parametrize("name", ["seed", "several"])
def test_nothing_is_wider_than_the_window(chromium: str, tmp_path: Path, name: str, width: int) -> None:
    found = measured(chromium, tmp_path, samples.ALL[name](), width)
    assert found["inner"] == width
    assert found["over"] == []
    assert found["wide"] <= width
    assert len(found["boxes"]) > 5
    assert [box for box in found["boxes"] if box[1] < -1 or box[2] < -1] == []
    for bar in found["labels"]:
        ordered = sorted(bar)
        assert all(before[1] <= after[0] for before, after in pairwise(ordered))


def test_long_words_do_not_widen_a_phone(chromium: str, tmp_path: Path) -> None:
    from .test_hostile import hostile

    found = measured(chromium, tmp_path, hostile(samples.crashed(), "x" * 300), 360)
    assert found["over"] == []
    assert found["wide"] <= 360


@pytest.mark.parametrize("width", [500, 1280])
def test_a_screenshot_can_be_taken(chromium: str, tmp_path: Path, width: int) -> None:
    (tmp_path / "page.html").write_text(render(samples.seed(), "html"))
    shot = tmp_path / "shot.png"
    run(chromium, tmp_path, f"--window-size={width},1000", f"--screenshot={shot}", (tmp_path / "page.html").as_uri())
    header = shot.read_bytes()[:24]
    assert header.startswith(b"\x89PNG")
    assert int.from_bytes(header[16:20], "big") == width


def test_it_prints_on_a4_pages(chromium: str, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(render(samples.seed(), "html"))
    printed = tmp_path / "page.pdf"
    run(chromium, tmp_path, "--no-pdf-header-footer", f"--print-to-pdf={printed}", (tmp_path / "page.html").as_uri())
    data = printed.read_bytes()
    assert data.startswith(b"%PDF")
    boxes = re.findall(rb"/MediaBox\s*\[\s*0 0 ([\d.]+) ([\d.]+)\s*\]", data)
    assert 1 <= len(boxes) <= 8
    # A4 is 210 x 297 mm = 595.28 x 841.89 points.
    assert {(round(float(width)), round(float(height))) for width, height in boxes} == {(595, 842)}
