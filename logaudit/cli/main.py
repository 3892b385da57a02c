"""The command line's entry: global options, the choice of the command, and one clear line for every error."""

from __future__ import annotations

import errno
import gc
import os
import sys
from collections.abc import Callable, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any

from logaudit import __version__
from logaudit.cli.commands import COMMANDS
from logaudit.errors import LogauditError

if TYPE_CHECKING:
    import logging

INTERNAL_ERROR = 70
"""Exit code of a fault in logaudit itself (EX_SOFTWARE)."""
USAGE_ERROR = 2
INTERRUPTED = 130
BROKEN_PIPE = 141
"""As a shell reports a program that SIGPIPE ended."""
_LARGEST = 10**15
"""Beyond this no number on the command line is meant."""


def main() -> None:
    """The console script."""
    # Nearly all that a short run makes lives to its end: looking through it for garbage takes a tenth of the time.
    gc.set_threshold(50_000, 20, 20)
    _stand_in_for_closed_streams()
    code = run(sys.argv[1:])
    try:
        sys.stdout.flush()
    except OSError:
        # What could be said about a full disk was said when it was written; Python would add a traceback at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = code or USAGE_ERROR
    sys.exit(code)


def _stand_in_for_closed_streams() -> None:
    """Python has None where a stream was closed: a report then cannot be written, a message goes nowhere."""
    if sys.stdout is None:
        sys.stdout = open(os.devnull, encoding="utf-8")  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code; errors go to standard error as one line each."""
    verbose, rest = _take_verbose(arguments)
    _set_up_logging(verbose)
    try:
        return _dispatch(rest)
    except LogauditError as problem:
        _complain(str(problem))
        return problem.exit_code
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except Exception as fault:
        if isinstance(fault, OSError) and fault.errno in (errno.ENOSPC, errno.EDQUOT):
            where = f"{fault.filename}: " if isinstance(fault.filename, str) else ""
            _complain(f"{where}{(fault.strerror or str(fault)).lower()} (free some space, or choose another place)")
            return USAGE_ERROR
        if verbose:
            import traceback

            _print_error(_without_secrets("".join(traceback.format_exception(fault))))
        what = f"internal error, {type(fault).__name__}: {_without_secrets(str(fault))}"
        advice = "run it again with --verbose and report what it prints, with the log if you may share it"
        _complain(f"{what} (a fault in logaudit {__version__}: {advice})")
        return INTERNAL_ERROR


def _take_verbose(arguments: Sequence[str]) -> tuple[bool, list[str]]:
    """`--verbose` is global: it may stand anywhere before a `--`."""
    end = list(arguments).index("--") if "--" in arguments else len(arguments)
    head = [argument for argument in arguments[:end] if argument != "--verbose"]
    return len(head) < end, [*head, *arguments[end:]]


def _set_up_logging(verbose: bool) -> None:
    """What the packages log goes to standard error, or nowhere."""
    if not verbose and "logging" not in sys.modules:
        return
    import logging

    logger = logging.getLogger("logaudit")
    logger.handlers[:] = [_stderr_handler()] if verbose else [logging.NullHandler()]
    logger.setLevel(logging.DEBUG if verbose else logging.WARNING)
    logger.propagate = False


def _stderr_handler() -> logging.Handler:
    import logging

    from logaudit.report.inline import clean

    class Cleaned(logging.Formatter):
        """A message that cannot steer the terminal."""

        def format(self, record: logging.LogRecord) -> str:
            return clean(super().format(record))

    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(Cleaned("logaudit: %(message)s"))
    return handler


def _dispatch(arguments: list[str]) -> int:
    if not arguments or arguments[0] in ("--help", "-h"):
        sys.stdout.write(_help())
        return 0 if arguments else USAGE_ERROR
    if arguments[0] in ("--version", "-V"):
        sys.stdout.write(f"logaudit {__version__}\n{_slower()}")
        return 0
    first = arguments[0]
    if first in COMMANDS:
        return _call(first, arguments[1:])
    _refuse_misspelt(first)
    return _call("report", arguments)


def _slower() -> str:
    """A line for an install that lacks the fast scanner."""
    from importlib.util import find_spec

    return "" if find_spec("hyperscan") else "Hyperscan is not installed: the slower scanner is used.\n"


def _refuse_misspelt(first: str) -> None:
    """A word that is nearly a command and names no file was meant as the command."""
    from difflib import get_close_matches

    if first.isalpha() and not os.path.exists(first):
        near = get_close_matches(first, COMMANDS, n=1, cutoff=0.7)
        if near:
            raise LogauditError(
                "neither a command nor a file",
                where=first,
                do=f"did you mean `logaudit {near[0]}`? see logaudit --help",
            )


def _call(name: str, arguments: list[str]) -> int:
    """Parse `arguments` for the named command and run it; its return value is the exit code."""
    import typer

    command = COMMANDS[name]
    function = command.load()
    returned = [0]
    app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    app.command(name, help=_documented(function))(_keeping(function, returned))
    # The class that all errors of usage share has no name of its own in typer.
    usage_error: Any = typer.BadParameter.__base__
    try:
        code = app(args=arguments, prog_name=f"logaudit {name}", standalone_mode=False)
    except SystemExit as done:
        code = done.code
    except usage_error as problem:
        what = problem.format_message().rstrip(".")
        raise LogauditError(f"{what[:1].lower()}{what[1:]}", do=f"see logaudit {name} --help") from None
    return code if isinstance(code, int) and code else returned[0]


def _documented(function: Callable[..., int]) -> str:
    from inspect import cleandoc

    return cleandoc(function.__doc__ or "")


def _keeping(function: Callable[..., int], returned: list[int]) -> Callable[..., None]:
    """`function` with its exit code put into `returned`, and an interrupt passed on as such."""

    @wraps(function)
    def kept(*given: Any, **named: Any) -> None:
        for option, value in named.items():
            _refuse_absurd(option, value)
        try:
            returned[0] = function(*given, **named)
        except KeyboardInterrupt:
            returned[0] = INTERRUPTED
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            returned[0] = BROKEN_PIPE

    return kept


def _refuse_absurd(option: str, value: object) -> None:
    """A number that no memory, count or time comes near; `nan` passes every range."""
    if isinstance(value, (int, float)) and not -_LARGEST <= value <= _LARGEST:
        raise LogauditError(
            "is no usable number", where=f"--{option.replace('_', '-')}", do="give one that can be meant"
        )


def _help() -> str:
    width = max(len(name) for name in COMMANDS) + 2
    commands = "\n".join(f"  {name:<{width}}{command.summary}" for name, command in COMMANDS.items())
    return f"""\
Usage: logaudit [--verbose] LOG...
       logaudit [--verbose] COMMAND ...

Reads SGLang's startup log and explains where the GPU memory went and why the
KV cache holds as many tokens as it does.

Commands (logaudit COMMAND --help says more):
{commands}

Options:
  --verbose  say on standard error what is done; the traceback of a fault
  --version  print the version
  --help     print this

Anything else as the first argument is a log to report on. A log that is named
like a command is given as ./{next(iter(COMMANDS))}.

Exit codes: 0 done, also when the log tells of a crash; 1 with --check: not as
it should be; 2 bad usage or input; 3 the ticket could not be reached; 4 watch
timed out; {INTERNAL_ERROR} a fault in logaudit itself.
"""


def _without_secrets(text: str) -> str:
    """What a fault of ours quotes may come from a log."""
    from logaudit.report.redact import Redactor

    return Redactor().text(text)


def _complain(message: str) -> None:
    from logaudit.report.inline import one_line

    _print_error(f"logaudit: {one_line(message)}\n")


def _print_error(text: str) -> None:
    from logaudit.report.inline import clean

    try:
        sys.stderr.write(
            clean(text).encode(sys.stderr.encoding or "utf-8", "replace").decode(sys.stderr.encoding or "utf-8")
        )
        sys.stderr.flush()
    except OSError:
        # Standard error is closed: there is nobody left to tell.
        return
