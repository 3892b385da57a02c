"""`python -m bundle`: one archive for a platform, with the wheels of everything and the script that installs them."""

from __future__ import annotations

import argparse
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from email.parser import HeaderParser
from pathlib import Path
from zipfile import ZipFile

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name, parse_wheel_filename

ROOT = Path(__file__).resolve().parent.parent
PYTHONS = ("3.11", "3.12", "3.13")
GLIBC = ("2_17", "2_24", "2_26", "2_27", "2_28")
"""Oldest to newest glibc whose wheels are taken: all of them run on one of 2.28 (RHEL 8, Debian 10) or newer."""
MACHINES = ("x86_64", "aarch64")


def main() -> None:
    """Build, download, pack."""
    parser = argparse.ArgumentParser(description=__doc__)
    machine = "aarch64" if platform.machine() in ("arm64", "aarch64") else "x86_64"
    parser.add_argument("--machine", choices=MACHINES, default=machine, help="of the machines to install on (Linux)")
    parser.add_argument("--python", nargs="+", choices=PYTHONS, default=list(PYTHONS), help="versions to serve")
    parser.add_argument("--extras", default="all", help="of logaudit, separated by commas; empty for none")
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="folder of the archive")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        archive = make(Path(scratch), arguments.machine, arguments.python, arguments.extras, arguments.out)
    print(archive)


def make(scratch: Path, machine: str, pythons: Sequence[str], extras: str, out: Path) -> Path:
    """The archive, made in `scratch` and put into `out`."""
    own = build_wheel(scratch / "own")
    name = f"{own.stem.split('-py3')[0]}-linux-{machine}"
    root = scratch / name
    wheels = root / "wheels"
    wheels.mkdir(parents=True)
    for python in pythons:
        folder = scratch / python
        download(own, extras, folder, machine, python)
        tag = f"cp{python.replace('.', '')}"
        found = sorted(path.name for path in folder.glob("*.whl"))
        (root / f"{tag}.txt").write_text("".join(f"{wheel}\n" for wheel in found))
        for wheel in found:
            shutil.move(folder / wheel, wheels / wheel)
    shutil.copy(ROOT / "bundle" / "install.sh", root / "install.sh")
    (root / "install.sh").chmod(0o755)
    shutil.copy(ROOT / "LICENSE", root / "LICENSE")
    archive = out / f"{name}.tar"
    partial = archive.with_suffix(".part")
    # Wheels are compressed already.
    with tarfile.open(partial, "w") as packed:
        packed.add(root, name, filter=_plain_owner)
    partial.replace(archive)
    return archive


def _plain_owner(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member


def build_wheel(folder: Path) -> Path:
    """The wheel of this checkout."""
    _pip("wheel", "--no-deps", "--wheel-dir", str(folder), str(ROOT))
    return next(folder.glob("logaudit-*.whl"))


def download(own: Path, extras: str, folder: Path, machine: str, python: str) -> None:
    """Everything that `own` needs on that machine and Python, as wheels in `folder`."""
    folder.mkdir()
    shutil.copy(own, folder)
    fetch([f"{own}[{extras}]" if extras else str(own), "pip"], folder, machine, python)
    # pip answers conditions such as `python_version >= "3.13"` for the Python that it runs on.
    while missing := lacking(folder.glob("*.whl"), extras, environment(machine, python)):
        fetch(missing, folder, machine, python)


def fetch(requirements: Iterable[str], folder: Path, machine: str, python: str) -> None:
    """Download wheels."""
    platforms = [f"manylinux_{glibc}_{machine}" for glibc in GLIBC] + [f"manylinux2014_{machine}", f"linux_{machine}"]
    options = [part for name in platforms for part in ("--platform", name)]
    _pip(
        "download",
        "--only-binary=:all:",
        "--python-version",
        python,
        "--implementation",
        "cp",
        *options,
        "--dest",
        str(folder),
        *requirements,
    )


def environment(machine: str, python: str) -> dict[str, str]:
    """The values of environment markers on the machines to install on."""
    return {
        "implementation_name": "cpython",
        "implementation_version": f"{python}.0",
        "os_name": "posix",
        "platform_machine": machine,
        "platform_python_implementation": "CPython",
        "platform_release": "",
        "platform_system": "Linux",
        "platform_version": "",
        "python_full_version": f"{python}.0",
        "python_version": python,
        "sys_platform": "linux",
    }


def lacking(wheels: Iterable[Path], extras: str, markers: Mapping[str, str]) -> list[str]:
    """What the wheels require on that machine and none of them is."""
    paths = list(wheels)
    present = {parse_wheel_filename(path.name)[0] for path in paths}
    wanted = {canonicalize_name("logaudit"): set(filter(None, extras.split(",")))}
    needed = {path: list(_requirements(path)) for path in paths}
    for _ in range(8):
        # Extras ask for extras of others, and of their own project.
        for path in paths:
            asked = wanted.get(parse_wheel_filename(path.name)[0], set())
            for requirement in _holding(needed[path], asked, markers):
                wanted.setdefault(canonicalize_name(requirement.name), set()).update(requirement.extras)
    missing = {}
    for path in paths:
        asked = wanted.get(parse_wheel_filename(path.name)[0], set())
        for requirement in _holding(needed[path], asked, markers):
            if canonicalize_name(requirement.name) not in present:
                missing[requirement.name] = f"{requirement.name}{requirement.specifier}"
    return sorted(missing.values())


def _requirements(wheel: Path) -> Iterator[Requirement]:
    with ZipFile(wheel) as packed:
        name = next(name for name in packed.namelist() if name.endswith(".dist-info/METADATA"))
        headers = HeaderParser().parsestr(packed.read(name).decode())
    for line in headers.get_all("Requires-Dist") or ():
        yield Requirement(line)


def _holding(
    requirements: Iterable[Requirement], extras: set[str], markers: Mapping[str, str]
) -> Iterator[Requirement]:
    for requirement in requirements:
        marker = requirement.marker
        if marker is None or any(marker.evaluate({**markers, "extra": extra}) for extra in ("", *extras)):
            yield requirement


def _pip(*arguments: str) -> None:
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", *arguments]
    subprocess.run(command, check=True, stdout=sys.stderr)


if __name__ == "__main__":
    main()
