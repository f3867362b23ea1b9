"""Trained policies as agents: callables on arrays, files of TorchScript (extra `rl`) or ONNX (extra `interop`).

runs = run(Deployed, "NMTHPO-swen-v0", seeds=range(10), policy="policy.onnx", features=("observed", "posterior"))
"""

from __future__ import annotations

import functools
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hpo_envs.agents.models import candidate_set
from hpo_envs.agents.models.candidate_set import CandidateArrays
from hpo_envs.agents.problem import Problem
from hpo_envs.agents.transfer.observing import ObservingAgent
from hpo_envs.core.params import check_int
from hpo_envs.tables.checks import extra_module, regular

PolicyFunction = Callable[[dict[str, npt.NDArray[np.float32]]], Any]

MOST_CANDIDATES = 100_000
"""Largest number of observed candidates."""


class Deployed(ObservingAgent):
    """Agent that follows a policy trained on `wrappers.CandidateObservation`, with the same observations.

    The policy gets a dict of float32 arrays with a batch axis of 1, and returns the index of an observed candidate, or
    a score for each, padding included: then the unevaluated one with the highest score is chosen. If there are more
    candidates than in training, a random subset is observed; if there are fewer, arrays are padded, both as in
    training. Once all observed candidates were evaluated, the others are drawn at random. TorchScript gets tensors in
    one dict, ONNX the arrays that its inputs name. A TorchScript file is a program: load only those that you trust.

    Args:
        problem: A finite problem with features and one objective.
        seed: Seed of `self.rng`, which draws the subset that is observed.
        policy: The callable, or a file with suffix `.pt` (TorchScript) or `.onnx`.
        features: Groups of columns of the training, see `hpo_envs.agents.models.candidate_set.GROUPS`.
        candidates: Number of observed candidates, as in training.

    Raises:
        ValueError: More than one objective, unknown `features`, `candidates` out of range, or a file of another kind;
            in `ask`: the policy fails on the observations, or returns anything else.
        FileNotFoundError: The file does not exist.
        ModuleNotFoundError: The package that runs the file is not installed.
    """

    def __init__(
        self, problem: Problem, seed: int, *, policy: PolicyFunction | str | Path,
        features: tuple[str, ...] = candidate_set.DEFAULT, candidates: int = 64,
    ) -> None:  # fmt: skip
        super().__init__(problem, seed, tuple(features), check_int("candidates", candidates, 1, MOST_CANDIDATES))
        self._policy = policy if callable(policy) else _loaded(str(policy), regular(Path(policy)).read_bytes())
        self.observe_space(CandidateArrays.of(self.features[self.pool], candidates))

    def _suggest(self) -> int:
        free = self.free[self.pool]
        if not free.any():
            return self.candidates.draw(self.rng)
        seen = self.observation()
        try:
            found = np.asarray(self._policy(seen), np.float64).reshape(-1)
        except Exception as error:  # of whatever library
            shapes = ", ".join(f"{name} {values.shape}" for name, values in seen.items())
            reason = " ".join(f"{type(error).__name__} {error}".split())[:200]
            raise ValueError(f"policy must take observations {shapes}, got {reason}") from None
        size = seen["mask"].shape[1]
        if len(found) == 1 and found[0] in range(size):
            return int(self.pool[int(found[0]) % len(self.pool)])
        if len(found) != size or not np.isfinite(found[: len(free)]).all():
            raise ValueError(
                f"policy must return an index or {size} finite scores, got {found.shape} of {found[:3].tolist()}"
            )
        return int(self.pool[np.where(free, found[: len(free)], -np.inf).argmax()])


@functools.lru_cache(maxsize=8)
def _loaded(file: str, content: bytes) -> PolicyFunction:
    path = Path(file)
    try:
        if path.suffix == ".onnx":
            runtime = extra_module("onnxruntime", "interop", "ONNX policies")
            options = runtime.SessionOptions()
            options.intra_op_num_threads = 1
            session = runtime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
            names = [given.name for given in session.get_inputs()]
            return lambda seen: session.run(None, {name: seen[name] for name in names})[0]
        if path.suffix == ".pt":
            torch = extra_module("torch", "rl", "TorchScript policies")
            module = torch.jit.load(io.BytesIO(content), map_location="cpu").eval()
            return lambda seen: module({k: torch.as_tensor(values) for k, values in seen.items()}).detach().numpy()
    except (ModuleNotFoundError, OSError, ValueError):
        raise
    except Exception as error:  # each runtime has its own
        reason = " ".join(str(error).split())[:200]
        raise ValueError(f"policy must be a file of {path.suffix[1:]}, got {file!r}: {reason}") from None
    raise ValueError(f"policy must be a callable or a file .pt or .onnx, got {file!r}")
