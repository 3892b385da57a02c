"""Which release keeps the sliding-window layers of which model in a pool of their own."""

from __future__ import annotations

import pytest
from packaging.version import Version

from logaudit.sglang.architectures import splits_sliding_window


@pytest.mark.parametrize(
    ("model", "splits", "plain"),
    [
        # The loaded model's window decides from 0.4.9.post3; the pool is switched off by name since: Gemma 2 in
        # 0.4.10.post2, Gemma 3 in 0.5.1.
        ("Gemma2ForCausalLM", ["0.4.9.post3", "0.4.10", "0.4.10.post1"], ["0.4.9.post2", "0.4.10.post2", "0.5.1"]),
        ("Gemma3ForCausalLM", ["0.4.9.post3", "0.4.10.post2"], ["0.4.9.post2", "0.5.1", "0.5.6.post2"]),
    ],
)
def test_post_releases_differ(model: str, splits: list[str], plain: list[str]) -> None:
    assert [r for r in splits if not splits_sliding_window([model], Version(r))] == []
    assert [r for r in plain if splits_sliding_window([model], Version(r))] == []
