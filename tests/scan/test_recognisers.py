"""Every recogniser does what its samples say, and none of them eats a plain line."""

from __future__ import annotations

import importlib
import pkgutil
from types import ModuleType

import pytest

from logaudit.scan import remarks, wrappers
from logaudit.scan.wrappers import colours, glued, one_line

MODULES = [
    importlib.import_module(f"{wrappers.__name__}.{info.name}") for info in pkgutil.iter_modules(wrappers.__path__)
]
RECOGNISERS = [module for module in MODULES if hasattr(module, "match")]
PLAIN = (
    "[2026-01-02 03:04:05 TP0] Load weight begin. avail mem=78.57 GB",
    "[2026-01-02 03:04:05] INFO:     Uvicorn running on http://127.0.0.1:30000 (Press CTRL+C to quit)",
    "[12:01:02 TP0] Memory pool end. avail mem=9.76 GB",
    "[gpu_id=0] Load weight begin. avail mem=78.57 GB",
    "Traceback (most recent call last):",
    '  File "/sgl/model_runner.py", line 9, in init',
    "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.",
    "    ~~~~^^^^",
    "Capturing batches (bs=1 avail_mem=5.20 GB):  50%|█████     | 1/2 [00:01<00:01,  1.00s/it]",
)


@pytest.mark.parametrize("module", RECOGNISERS, ids=lambda module: module.__name__.rsplit(".", 1)[-1])
def test_samples_give_the_lines_inside(module: ModuleType) -> None:
    assert module.SAMPLES
    for text, inside in module.SAMPLES:
        hit = module.match(text)
        assert hit is not None, text
        assert hit.texts == inside


@pytest.mark.parametrize("module", [module for module in RECOGNISERS if module.SURE], ids=lambda module: module.NAME)
@pytest.mark.parametrize("line", PLAIN)
def test_no_sure_recogniser_takes_a_plain_line(module: ModuleType, line: str) -> None:
    assert module.match(line) is None


def test_names_are_the_modules_own() -> None:
    names = [module.NAME for module in RECOGNISERS]
    assert len(set(names)) == len(names)
    assert [recogniser.name for recogniser in wrappers.recognisers()] == [
        module.NAME for module in sorted(RECOGNISERS, key=lambda module: (module.ORDER, module.NAME))
    ]


@pytest.mark.parametrize(("text", "plain"), colours.SAMPLES)
def test_colours(text: str, plain: str) -> None:
    assert colours.strip(text) == plain


@pytest.mark.parametrize(("text", "lines"), glued.SAMPLES)
def test_glued_lines(text: str, lines: tuple[str, ...]) -> None:
    assert tuple(glued.split(text)) == lines


@pytest.mark.parametrize(("text", "lines"), one_line.SAMPLES)
def test_written_line_ends(text: str, lines: tuple[str, ...]) -> None:
    assert tuple(one_line.split(text)) == lines


@pytest.mark.parametrize(("text", "message"), remarks.SAMPLES)
def test_trailing_remarks(text: str, message: str) -> None:
    assert remarks.strip(text) == message


@pytest.mark.parametrize(
    "message",
    [
        "Decode batch, #running-req: 3, #token: 1234, token usage: 0.01, #queue-req: 0",
        "SWA ring: swa_max_total_num_tokens 347305 -> 65536 (fixed per-request SWA ring capacity).",
        "Load weight end. Committed real weights in 1.20 s (capture overlap window 9.10 s, startup total 15.00 s).",
        "server_args=ServerArgs(chat_template='# a <- b', tp_size=1)",
        "Capturing batches (bs=1 avail_mem=5.20 GB):  50%|#####     | 1/2 [00:01<00:01,  1.00s/it]",
    ],
)
def test_messages_are_no_remarks(message: str) -> None:
    assert remarks.strip(message) == message
