"""Training on request in a separate process, with one thread and a time limit.

`python -m hpo_envs.families.training.process MODULE` reads requests as lines of JSON and replies to each with one line;
the module's `begin` returns the training. `Trainer` starts it, sends requests, and ends it if a training exceeds its
time limit.
"""

import importlib
import json
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from hpo_envs.families.training.record import Failed, check_packages
from hpo_envs.tables.files import atomic

CHECKPOINT = "checkpoint.npz"


class Trainer:
    """A process that trains with one thread; started at the first request.

    Args:
        module: Name of the module with `begin`.
        seconds: Time limit of a request; the process is ended if it is exceeded.
        packages: Modules that it needs.

    Raises:
        ValueError: `seconds` is not a number > 0.
        ModuleNotFoundError: A package is not installed.
    """

    def __init__(self, module: str, seconds: float, packages: Sequence[str] = ("torch",)) -> None:
        if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not seconds > 0:
            raise ValueError(f"seconds must be a number > 0, got {seconds!r}")
        check_packages(packages)
        self._module, self._seconds, self._packages = module, seconds, tuple(packages)
        self._process: subprocess.Popen[str] | None = None

    def train(self, of: Mapping[str, Any], epochs: int, folder: Path | None = None) -> dict[str, Any]:
        """Train up to a number of epochs.

        Args:
            of: Arguments of the module's `begin`.
            epochs: Total number of epochs.
            folder: Folder of the training's state, from which it continues; None: it starts from the beginning.

        Returns:
            The fields of the last epoch, `epochs` (the fields of each new epoch), `parameters` and CPU `seconds`; or
            `diverged` or `failed`, with `epochs` and `seconds`.

        Raises:
            TimeoutError: The training exceeded its time limit.
            ChildProcessError: The process died or replied with an error.
        """
        request = {"of": dict(of), "epochs": epochs, "folder": None if folder is None else str(folder)}
        process = self._started()
        assert process.stdin is not None
        assert process.stdout is not None
        late = threading.Event()

        def end() -> None:
            late.set()
            process.kill()

        timer = threading.Timer(self._seconds, end)
        timer.daemon = True
        timer.start()
        try:
            process.stdin.write(json.dumps(request) + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except OSError:
            line = ""
        finally:
            timer.cancel()
        if not line:
            self.close()
            if late.is_set():
                raise TimeoutError(f"a training must end within {self._seconds:g} s, got no result")
            raise ChildProcessError("the training process died (out of memory?)")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise ChildProcessError(answer["error"])
        return answer

    def close(self) -> None:
        """End the process if it is running; the next request starts another."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def __reduce__(self) -> Any:
        return Trainer, (self._module, self._seconds, self._packages)

    def _started(self) -> subprocess.Popen[str]:
        if self._process is None or self._process.poll() is not None:
            pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "encoding": "utf-8"}
            self._process = subprocess.Popen([sys.executable, "-m", __name__, self._module], **pipes)  # noqa: S603
            weakref.finalize(self, self._process.kill)
        return self._process


def answer(begin: Callable[..., Any], request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the reply to a request, see `Trainer.train`.

    Raises:
        ValueError: The requested epochs were trained before.
    """
    start = time.process_time()
    training = begin(**request["of"])
    path = None if request["folder"] is None else Path(request["folder"]) / CHECKPOINT
    if path is not None and path.exists():
        training.restore(atomic.read_npz(path))
    made: list[dict[str, Any]] = []
    try:
        while training.epochs < request["epochs"]:
            made.append(asdict(training.epoch()))
    except Failed as ended:
        return {ended.status: True, "epochs": made, "seconds": time.process_time() - start}
    if not made:
        raise ValueError(f"epochs must be > {training.epochs}, the number already trained, got {request['epochs']}")
    if path is not None:
        with open(path.with_suffix(".part.npz"), "wb") as stream:
            np.savez(stream, **training.state())
        path.with_suffix(".part.npz").replace(path)
    return {**made[-1], "epochs": made, "parameters": training.size, "seconds": time.process_time() - start}


def main(module: str) -> None:
    """Serve requests until the input ends."""
    begin = importlib.import_module(module).begin
    for line in sys.stdin:
        try:
            said = answer(begin, json.loads(line))
        except Exception as error:
            said = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(said), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
