"""A model's config from the Hugging Face hub: the local cache first, the network only when it is not there."""

from __future__ import annotations

from pathlib import Path

from logaudit.errors import ConfigError

PREFIX = "hf:"


def is_hub_name(text: str) -> bool:
    """Whether a `--model-config` value names a repository on the hub."""
    return text.startswith(PREFIX)


def config_path(text: str) -> Path:
    """The path of config.json of `hf:ORG/NAME` (or `hf:ORG/NAME@REVISION`); raises ConfigError.

    Credentials are those that the hub's own client finds in its usual places.
    """
    name, _, revision = text.removeprefix(PREFIX).partition("@")
    if name.count("/") != 1 or not all(name.split("/")):
        raise ConfigError("a hub name is ORG/NAME", where=text, do="for example hf:moonshotai/Kimi-K2.5")
    try:
        from huggingface_hub import hf_hub_download
        from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError
    except ImportError:
        raise ConfigError(
            "reading a config from the hub needs the package huggingface_hub",
            where=text,
            do="pip install 'logaudit[hub]', or give a path to config.json",
        ) from None
    for cached_only in (True, False):
        try:
            return Path(hf_hub_download(name, "config.json", revision=revision or None, local_files_only=cached_only))
        except LocalEntryNotFoundError as error:
            if not cached_only:
                raise ConfigError(
                    "its config.json is neither in the local cache nor to be had", where=text, do=_first_line(error)
                ) from None
        except (HfHubHTTPError, HFValidationError, OSError) as error:
            raise ConfigError("its config.json cannot be had", where=text, do=_first_line(error)) from None
    raise ConfigError("its config.json cannot be had", where=text)


def _first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)
