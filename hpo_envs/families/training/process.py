"""Trains on request in a process of its own, so that no one else's torch settings are touched.

`python -m hpo_envs.families.training.process MODULE` reads requests as lines of JSON and answers each with one
line; a training is what the module's `begin` returns. `Trainer` starts it, asks it, and ends it where a training takes
too long.
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
        seconds: How long a request may take; the process is ended where one takes longer.
        packages: Modules that it needs.

    Raises:
        ValueError: `seconds` is not a number > 0.
        ModuleNotFoundError: One of them is not installed.
    """

    def __init__(self, module: str, seconds: float, packages: Sequence[str] = ("torch",)) -> None:
        if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not seconds > 0:
            raise ValueError(f"seconds must be a number > 0, got {seconds!r}")
        check_packages(packages)
        self._module, self._seconds, self._packages = module, seconds, tuple(packages)
        self._process: subprocess.Popen[str] | None = None

    def train(self, of: Mapping[str, Any], epochs: int, folder: Path | None = None) -> dict[str, Any]:
        """Train until so many epochs are done.

        Args:
            of: Arguments of the module's `begin`.
            epochs: In all.
            folder: Where the training continues from, and leaves what it needs to continue; None: it begins again.

        Returns:
            The fields of the last epoch, `epochs` (those of each that was trained now), `parameters`, `seconds` of the
            processor; `diverged` or `failed`, with `epochs` and `seconds`, where the training has.

        Raises:
            TimeoutError: It took too long.
            ChildProcessError: The process died or refused; the message says what it printed.
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
        """End the process."""
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
    """Serve a request; see `Trainer.train`."""
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
    """Serve requests until there are no more."""
    begin = importlib.import_module(module).begin
    for line in sys.stdin:
        try:
            said = answer(begin, json.loads(line))
        except Exception as error:
            said = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(said), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
