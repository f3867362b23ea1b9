"""Functions to tune, which worker processes can import."""

import os
import signal
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

SPACE: dict[str, Any] = {
    "x": (0.0, 1.0),
    "kind": ["good", "bad"],
    "depth": {"low": 1, "high": 3, "if": {"kind": ["good"]}},
}

PROGRAM = """
import sys, time
from pathlib import Path
import hpo_envs

def train(config):
    time.sleep(0.03)
    with open(Path(sys.argv[1]) / "calls", "a") as stream:
        stream.write(f"{config['x']}\\n")
    return config["x"]

if __name__ == "__main__":
    hpo_envs.tune(train, {"x": (0.0, 1.0)}, agent="random", budget=24, workers=2, out=sys.argv[1], progress=False)
"""


def train(config: Mapping[str, Any]) -> dict[str, float]:
    """Return a score, with its maximum at x = 0.3, kind good and depth 3, and a cost of 2."""
    bonus = 0.1 * config["depth"] if config["kind"] == "good" else 0.0
    return {"score": 1.0 - (config["x"] - 0.3) ** 2 + bonus, "cost": 2.0}


def troubled(config: Mapping[str, Any]) -> float:
    """Raise an error, exit, diverge or kill the process, depending on x."""
    x = config["x"]
    if x < 0.2:
        raise RuntimeError(f"no x below 0.2, got {x:.2f}")
    if x < 0.4:
        return float("nan")
    if x < 0.6:
        raise SystemExit("exit")
    if x < 0.8:
        os.kill(os.getpid(), signal.SIGKILL)
    return float(x)


def deadly(config: Mapping[str, Any]) -> float:
    """Kill the process if x is below 0.25."""
    if config["x"] < 0.25:
        os.kill(os.getpid(), signal.SIGKILL)
    return float(config["x"])


def stops(config: Mapping[str, Any]) -> float:
    """Stop this process if x is below 0.5; act like Ctrl-C if it is above 0.8."""
    if config["x"] < 0.5:
        os.kill(os.getpid(), signal.SIGSTOP)
    if config["x"] > 0.8:
        raise KeyboardInterrupt
    return float(config["x"])


def endless(config: Mapping[str, Any]) -> float:
    """Return x; never return if it is below 0.5."""
    while config["x"] < 0.5:
        time.sleep(0.01)
    return float(config["x"])


def epochs(config: Mapping[str, Any]) -> Iterator[dict[str, float]]:
    """Yield a score that improves in each of nine epochs, with a cost of 1."""
    for epoch in range(1, 10):
        yield {"score": config["x"] - 1.0 / epoch, "cost": 1.0}


def resumed(config: Mapping[str, Any], resume_from: Path, epochs: int) -> dict[str, float]:
    """`epochs` with checkpoints; `gone` is the number of epochs in the checkpoint."""
    file = resume_from / "epoch"
    gone = int(file.read_text()) if file.exists() else 0
    file.write_text(str(epochs))
    return {"score": config["x"] - 1.0 / epochs, "gone": gone, "cost": float(epochs - gone)}


def reporting(config: Mapping[str, Any], trial: Any) -> float:
    """Report the scores of `epochs` to a trial; return the last one."""
    for epoch in range(1, 10):
        trial.report(config["x"] - 1.0 / epoch, epoch)
        if trial.should_stop:
            break
    return float(trial.curve[-1][1])


def mixed(config: Mapping[str, Any]) -> float:
    """Fail for the same cause if x is above 0.02, as on a full GPU."""
    if config["x"] > 0.02:
        raise RuntimeError("out of memory")
    return float(config["x"])
