"""What tests share: where the oracle and the real logs are."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared"
TEST_ALL = os.environ.get("LOGAUDIT_TEST_ALL") == "1"
"""Whether the exhaustive forms of sampled tests run."""


def shared_files(pattern: str) -> list[Path]:
    """Files of the shared folder for parametrisation; empty where the folder is absent (then `shared_dir` skips or fails)."""
    return sorted(SHARED.glob(pattern))


@pytest.fixture(scope="session")
def shared_dir() -> Path:
    """The folder with the oracle and the real logs: required in CI, optional elsewhere."""
    if not SHARED.is_dir():
        message = f"the oracle folder {SHARED.name}/ is not beside the project"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    return SHARED
