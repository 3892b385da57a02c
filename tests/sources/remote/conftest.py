"""Fixtures for tests that talk to a real SSH daemon."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.sources.remote.sshd import World, build_world


@pytest.fixture(scope="session")
def _world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with build_world(tmp_path_factory.mktemp("ssh")) as world:
        yield world


@pytest.fixture
def world(_world: World, monkeypatch: pytest.MonkeyPatch) -> World:
    """The daemons, freshly trusted, and the client that knows them first on the PATH."""
    _world.trust()
    _world.configure()
    monkeypatch.setenv("PATH", f"{_world.client.parent}{os.pathsep}{os.environ['PATH']}")
    return _world
