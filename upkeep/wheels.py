"""Release wheels of SGLang: listed and downloaded by pip, kept in a cache, never installed."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from packaging.utils import parse_wheel_filename
from packaging.version import InvalidVersion, Version

from logaudit.errors import SourceError

PACKAGE = "sglang"
OLDEST = Version("0.4.0")
"""First release that the knowledge covers."""
PAUSE_S = 1.0
"""Rest between two downloads of one run."""
FOREIGN_PLATFORM = ("--platform", "manylinux_2_34_x86_64", "--python-version", "3.11", "--implementation", "cp")
"""Asked for when this machine's own platform has no wheel: the wheel is only read, so any will do."""


def cache_folder() -> Path:
    """Where wheels are kept: `LOGAUDIT_WHEELS`, else `logaudit/wheels` in the user's cache folder."""
    chosen = os.environ.get("LOGAUDIT_WHEELS")
    if chosen:
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "logaudit" / "wheels"


def cached(cache: Path) -> dict[Version, Path]:
    """Releases whose wheel is in the cache, oldest first."""
    found: dict[Version, Path] = {}
    for path in cache.glob(f"{PACKAGE}-*.whl"):
        name, version, _, _ = parse_wheel_filename(path.name)
        if name == PACKAGE:
            found[version] = path
    return dict(sorted(found.items()))


def published() -> list[Version]:
    """Final and post-releases on the registry from `OLDEST` on, oldest first. Raises SourceError."""
    text = _pip("index", "versions", PACKAGE)
    for line in text.splitlines():
        label, _, names = line.partition(":")
        if label.strip() == "Available versions":
            versions = [Version(name.strip()) for name in names.split(",")]
            return sorted(v for v in versions if v >= OLDEST and not v.is_prerelease)
    raise SourceError("the registry lists no releases", where=PACKAGE, do="try again, or give a wheel's path")


def fetch(version: Version, cache: Path) -> Path:
    """The wheel of `version`, from the cache or downloaded into it. Raises SourceError."""
    present = cached(cache).get(version)
    if present is not None:
        return present
    cache.mkdir(parents=True, exist_ok=True)
    ask = ("download", "--quiet", "--no-deps", "--only-binary", ":all:", "--dest", str(cache))
    wanted = f"{PACKAGE}=={version}"
    try:
        _pip(*ask, wanted)
    except SourceError:
        _pip(*ask, *FOREIGN_PLATFORM, wanted)
    got = cached(cache).get(version)
    if got is None:
        raise SourceError("the download left no wheel", where=wanted, do="give a wheel's path")
    return got


def fetch_all(versions: list[Version], cache: Path) -> dict[Version, Path]:
    """Wheels of all `versions`, downloaded one by one with a pause. Raises SourceError."""
    have = cached(cache)
    wheels: dict[Version, Path] = {}
    for version in versions:
        if version not in have:
            print(f"downloading {PACKAGE} {version}", file=sys.stderr)
            have[version] = fetch(version, cache)
            time.sleep(PAUSE_S)
        wheels[version] = have[version]
    return wheels


def as_version(text: str) -> Version | None:
    """`text` as a release number, or None when it is none (a path)."""
    try:
        return Version(text)
    except InvalidVersion:
        return None


def _pip(*args: str) -> str:
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", *args]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        last = [line for line in done.stderr.splitlines() if line.strip()][-1:] or ["no message"]
        raise SourceError(
            f"pip {args[0]} failed: {last[0].strip()}", where=PACKAGE, do="check the registry, or give a wheel's path"
        )
    return done.stdout
