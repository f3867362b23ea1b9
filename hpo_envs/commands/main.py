"""The command line: choice of the subcommand, errors in one line, exit status, signals, check of the memory limit.

A subcommand is a module of `hpo_envs.commands` with

    EPILOG                              example command lines
    add_arguments(parser) -> None
    run(args) -> int                    exit status

and one line in `COMMANDS`. Only the module of the chosen one is imported.
"""

import argparse
import contextlib
import importlib
import os
import shlex
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from types import FrameType
from typing import Any, NoReturn

from hpo_envs.tables import VERSION, screen
from hpo_envs.tables.checks import advice, nearest

COMMANDS = {
    "list": "show all environment ids, or the agents",
    "describe": "show spaces, table, citation and page of an id, or the page of an agent",
    "fetch": "install the files of data sets that do not ship",
    "compare": "run agents against each other: table, plot, saved runs",
    "report": "write saved runs as one self-contained HTML page",
    "leaderboard": "run your agent for the leaderboard, and check its runs",
    "reproduce": "reproduce a paper's tables and figures, with verdicts",
    "importance": "hyperparameter importance and sensitivity of any table or study",
    "tune": "tune your own training function: durable, parallel, with a report",
    "table": "build an environment from a CSV file or an Optuna study",
}
"""Subcommand, a module of `hpo_envs.commands` -> its summary."""

EPILOG = """\
examples:
  hpo-envs list                         all environments
  hpo-envs describe NMTHPO-swen-v0      spaces, table and page of an environment
  hpo-envs fetch --list                 data sets that do not ship
  hpo-envs compare                      random search on NMTHPO-swen-v0, 100 seeds
  hpo-envs COMMAND --help               options and examples of a command

modules:
  python -m hpo_envs.agents.bandits.select --help              the best model by your own scores, the next to evaluate
  python -m hpo_envs.tables.datasets.cushlepor.score --help    hLEPOR scores of your translations"""

USER_ERROR, INTERRUPTED, PIPE_CLOSED = 2, 130, 141

LEAST_MEMORY = 1_750_000_000
"""Smallest address space in bytes, which `compare` uses; with less, OpenBLAS crashes or hangs it or a worker."""


class _Help(argparse.RawDescriptionHelpFormatter):
    """Formatter that keeps the name and summary of a subcommand on one line."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=100)
        # argparse forgets that subcommands are indented twice when it makes room for the longest.
        self._action_max_length = 4 + max(map(len, COMMANDS))


class _Parser(argparse.ArgumentParser):
    """Parser that reports invalid options like other user errors."""

    def error(self, message: str) -> NoReturn:
        self.exit(USER_ERROR, f"hpo-envs: error: {message}. `{self.prog} --help` lists the options.\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line.

    Args:
        argv: Arguments without the program's name; default: the process's own.

    Returns:
        Exit status: what the command returns, or 0 without one; 2 after a user's error, 130 after Ctrl-C, SIGTERM or
        SIGHUP, 141 if the reader of the output has closed it. Other errors are raised; with `--debug`, also a user's,
        except invalid options.
    """
    screen.open_closed()
    with screen.on(), _stops():
        status = _main(list(sys.argv[1:] if argv is None else argv))
    threads = [t for t in threading.enumerate() if type(t) is threading.Thread and not t.daemon]
    if argv is None and status == INTERRUPTED and threads and "--executor" in " ".join(sys.argv):  # its agents may wait
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.flush()
        os._exit(status)
    return status


@contextlib.contextmanager
def _stops() -> Iterator[None]:
    """Let SIGTERM and SIGHUP, from schedulers and closed terminals, stop a command as Ctrl-C does.

    A signal that has a handler or is ignored, as Ctrl-C is in a background job of a script, keeps its effect. Outside
    of the main thread, nothing is changed.
    """
    stopped = False

    def stop(number: int, frame: FrameType | None) -> None:
        nonlocal stopped
        stopped = True
        signal.raise_signal(signal.SIGINT)

    def ignore_unless_stopped(number: int, frame: FrameType | None) -> None:
        if stopped:
            signal.default_int_handler(number, frame)

    sent = [s for n in ("SIGTERM", "SIGHUP") if (s := getattr(signal, n, None))]
    handlers: dict[int, Any] = dict.fromkeys((s for s in sent if signal.getsignal(s) == signal.SIG_DFL), stop)
    if handlers and signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        handlers[signal.SIGINT] = ignore_unless_stopped
    if threading.current_thread() is not threading.main_thread():
        handlers = {}
    before = {s: signal.signal(s, handler) for s, handler in handlers.items()}
    try:
        yield
    finally:
        for s, handler in before.items():
            signal.signal(s, handler)


def _main(words: list[str]) -> int:
    try:
        status = _run(words)
        sys.stdout.flush()
    except SystemExit as stop:  # argparse: after --help, --version or a wrong option
        return stop.code if isinstance(stop.code, int) else USER_ERROR
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        with contextlib.suppress(OSError, ValueError):  # so that flushing it at exit raises no error
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return PIPE_CLOSED
    except Exception as error:
        if "--debug" in words or not _is_users(error):
            raise
        print(f"hpo-envs: error: {' '.join(_message(error).split())}", file=sys.stderr)
        return USER_ERROR
    return status


def _run(words: list[str]) -> int:
    command = next((w for w in words if not w.startswith("-")), None)
    parser, module = parser_of(command)
    args = parser.parse_args(words)
    if module is None:
        parser.print_help()
        return 0
    args.typed = shlex.join(["hpo-envs", *words])
    _check_system()
    return int(module.run(args))


def _check_system() -> None:
    if not (date := os.environ.get("SOURCE_DATE_EPOCH", "0")).isdecimal():  # which NumPy reads
        raise ValueError(f"SOURCE_DATE_EPOCH must be a number of seconds, got {date!r}")
    with contextlib.suppress(ImportError):  # Windows has no such limits
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit != resource.RLIM_INFINITY and limit < LEAST_MEMORY:
            raise ValueError(
                f"the limit of address space (`ulimit -v`) must be >= {LEAST_MEMORY // 1024} kB, got {limit // 1024}"
            )


def parser_of(name: str | None) -> tuple[argparse.ArgumentParser, Any]:
    """Return the parser, with the options of one command, and the module of this command (None without a name).

    Raises:
        ValueError: There is no such command.
    """
    if name is not None and name not in COMMANDS:
        raise ValueError(
            f"command must be one that `hpo-envs --help` shows ({', '.join(COMMANDS)}), got {name!r}"
            f"{nearest(name, [*COMMANDS])}"
        )
    about = "Gymnasium environments for hyperparameter optimisation in NLP."
    parser = _Parser(prog="hpo-envs", description=about, epilog=EPILOG, formatter_class=_Help)
    parser.add_argument("--version", action="version", version=f"hpo-envs {VERSION}")
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", dest="command", parser_class=_Parser)
    module: Any = None
    for each, summary in COMMANDS.items():
        chosen = commands.add_parser(each, help=summary, formatter_class=argparse.RawDescriptionHelpFormatter)
        if each == name:
            module = importlib.import_module(f"hpo_envs.commands.{name}")
            chosen.description, chosen.epilog = module.__doc__, module.EPILOG
            chosen.add_argument("--debug", action="store_true", default=argparse.SUPPRESS, help="show tracebacks")
            module.add_arguments(chosen)
    return parser, module


NO_THREAD = "can't start new thread"
"""Message of Python's `RuntimeError` at the limit of processes."""


def _message(error: Exception) -> str:
    """Return the message of an error; for errors of the system about a file, it begins with the file."""
    if isinstance(error, MemoryError):
        return f"out of memory{f': {error}' if str(error) else ''}; the same command resumes what it stored"
    if str(error) == NO_THREAD:
        return f"the system must allow more processes and threads (`ulimit -u`), got {error}"
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        return f"{os.fsdecode(error.filename)} must be a usable file or folder, got {error.strerror.lower()}"
    return str(error)


def _is_users(error: Exception) -> bool:
    """Return whether an error is caused by the user: raised by checks, the system or Gymnasium's `make`."""
    if advice(error) or str(error) == NO_THREAD:
        return True
    return isinstance(error, (ValueError, OSError, MemoryError)) or type(error).__module__.startswith("gymnasium.")
