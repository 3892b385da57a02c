"""The errors that a user can meet: each says what, where and what to do, in one line."""

from __future__ import annotations


class LogauditError(Exception):
    """Base of every error that the command line turns into one line and an exit code."""

    exit_code = 2
    """Process exit code for this error."""

    def __init__(self, what: str, *, where: str = "", do: str = "") -> None:
        self.what = what
        self.where = where
        self.do = do
        super().__init__(str(self))

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        advice = f" ({self.do})" if self.do else ""
        return f"{place}{self.what}{advice}"


class SourceError(LogauditError):
    """A log cannot be read: missing, unreadable, binary, empty, or the far side refused."""


class OutputError(LogauditError):
    """A report cannot be written: the file exists, the folder is missing, the disk is full."""


class ConfigError(LogauditError):
    """A model config or another input beside the log cannot be used."""


class DeliveryError(LogauditError):
    """A report could not be delivered to the ticket."""

    exit_code = 3


class WatchTimeout(LogauditError):
    """`watch` waited as long as it was told to and saw neither ready nor crashed."""

    exit_code = 4
