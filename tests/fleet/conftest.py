"""An object store on this machine, behind the real S3 interface."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any
from urllib.request import urlopen

import pytest

_SETTINGS = {
    "AWS_ACCESS_KEY_ID": "test",
    "AWS_SECRET_ACCESS_KEY": "test",  # what moto takes, and no secret
    "AWS_DEFAULT_REGION": "us-east-1",
}


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="session")
def s3() -> Iterator[Any]:
    """A file system of fsspec on an empty store; its address is in the environment, for this process and its children."""
    port = _free_port()
    address = f"http://127.0.0.1:{port}"
    server = subprocess.Popen(
        [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    patch = pytest.MonkeyPatch()
    try:
        for _ in range(300):
            try:
                urlopen(address, timeout=1).close()
                break
            except OSError:
                time.sleep(0.1)
        else:
            pytest.fail("the object store did not start")
        for name, value in {**_SETTINGS, "AWS_ENDPOINT_URL": address}.items():
            patch.setenv(name, value)
        os.environ.pop("AWS_PROFILE", None)
        import fsspec

        yield fsspec.filesystem("s3", use_listings_cache=False, config_kwargs={"read_timeout": 600})
    finally:
        patch.undo()
        server.terminate()
        server.wait(10)
