"""Configs by hub name, against the real client and a cache made by hand."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from logaudit.auditing import given_of
from logaudit.errors import ConfigError
from tests.conftest import ROOT

CONFIG = ROOT / "fixtures" / "models" / "llama31-8b.json"
COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder that the client looks in, offline."""
    constants = pytest.importorskip("huggingface_hub.constants", reason="the hub extra is not installed")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    return tmp_path


def test_a_cached_config_is_read_without_a_network(cache: Path) -> None:
    repository = cache / "models--org--name"
    snapshot = repository / "snapshots" / COMMIT
    snapshot.mkdir(parents=True)
    (snapshot / "config.json").write_text(CONFIG.read_text())
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(COMMIT)
    config = given_of(model_config="hf:org/name").config
    assert config is not None
    assert config.num_hidden_layers == 32


def test_what_is_not_cached_and_cannot_be_fetched_is_one_line(cache: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        given_of(model_config="hf:org/absent")
    assert "hf:org/absent" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["hf:name", "hf:/name", "hf:a/b/c"])
def test_a_name_without_an_organisation_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match="ORG/NAME"):
        given_of(model_config=name)


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(ConfigError, match=r"logaudit\[hub\]"):
        given_of(model_config="hf:org/name")
