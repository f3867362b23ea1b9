"""NASBenchNLP-cell: recurrent cells built node by node (Klyuchnikov et al. 2020)."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Box, MultiDiscrete
from gymnasium.vector import AutoresetMode

from hpo_envs.core.env import Floats, HPOEnv, HPOVectorEnv, Info, check_budget, provenance_info
from hpo_envs.core.loading import load_tables
from hpo_envs.core.params import Objective
from hpo_envs.engines.lookup.params import check_objective
from hpo_envs.tables import draws
from hpo_envs.tables.cells.canonical import key as key_of
from hpo_envs.tables.cells.grammar import END, SIZES, SLOTS, SOURCES, actions_of, cell_of, finish, mutate, node_of
from hpo_envs.tables.cells.recipe import MAX_NODES, OPERATIONS, Cell, InvalidRecipe
from hpo_envs.tables.cells.size import VOCABULARY, parameters
from hpo_envs.tables.datasets.nasbenchnlp import model
from hpo_envs.tables.datasets.nasbenchnlp.logs import EPOCHS
from hpo_envs.tables.table import STATUSES, Table, nearest

TABLE = "nasbenchnlp/wikitext2"
HELD_OUT = ("test_loss",)
SEEDS = 8
"""Training seeds that a simulated cell has."""

_NODE = len(OPERATIONS) + SLOTS  # observation entries of a node
_VECTORS = SIZES[1]


class Judge:
    """Scores cells: by the table where their computation is in it, else by the surrogate of `tables.cells.model`.

    Args:
        table: A table whose keys are canonical keys, repeated ones with `#2`, `#3`, ...
        objective: Name of the rewarded metric, or a tuple of names for a vector reward.
    """

    def __init__(self, table: Table, objective: Objective) -> None:
        self.table = table
        objective = check_objective(objective)
        self.vector = not isinstance(objective, str)
        self.names = (objective,) if isinstance(objective, str) else objective
        shown = tuple(n for n in table.metric_names if n not in HELD_OUT)
        for name in self.names or ("",):
            if name not in shown:
                raise ValueError(f"objective must be one of {', '.join(shown)}, got {name!r}{nearest(name, shown)}")
        self.shown = (*shown, "seconds")
        chosen = [table.metrics[table.metric(n)] for n in self.names]
        self.sign = np.array([m.sign for m in chosen])
        ends = np.array([[m.low, m.high] for m in chosen]) * self.sign[:, None]
        self.low, self.high = ends.min(axis=1), ends.max(axis=1)
        self.runs: dict[str, list[tuple[int, int]]] = {}
        for row, name in enumerate(table.keys):
            measured = int((~np.isnan(table.cost[row, :, 0])).sum())
            self.runs.setdefault(name.split("#")[0], []).extend((row, r) for r in range(measured))

    def score(self, cell: Cell, name: str, bits: int) -> Info:
        """What a step that completes a cell says of it, without reward.

        Args:
            cell: The cell.
            name: Its canonical key.
            bits: 64 random bits that choose the training seed.
        """
        probability = model.divergence_probability(cell)
        if name in self.runs:
            row, repeat = self.runs[name][draws.below(bits, len(self.runs[name]))]
            count = int((~np.isnan(self.table.cost[row, repeat])).sum())
            losses, seconds = self.table.values[row, repeat, :count, :3], float(self.table.cost[row, repeat, count - 1])
            status, source = STATUSES[self.table.status[row, repeat]], self.table.provenance.kind
            size = float(self.table.values[row, repeat, 0, 3])
        else:
            run = model.simulate(cell, draws.below(bits, SEEDS))
            losses, seconds, source = run.losses, float(run.seconds.sum()), "surrogate"
            status, size = "diverged" if run.diverged else "ok", float(parameters(cell, VOCABULARY["wikitext2"]))
        curve = np.full((EPOCHS, 3), model.CAP)
        curve[: len(losses)] = np.where(np.isnan(losses), model.CAP, losses)
        # A run that ended early without diverging keeps its last loss; one that diverged has none.
        if status != "diverged":
            curve[len(losses) :] = losses[-1]
        metrics = dict(zip(("validation_loss", "test_loss", "train_loss"), curve[-1].tolist(), strict=True))
        return self.entry(
            {**metrics, "parameters": size, "seconds": seconds}, curve[:, 0].copy(), status, source, name, probability
        )

    def entry(
        self, values: dict[str, float], curve: Floats, status: str, source: str, name: str, probability: float
    ) -> Info:
        """The entries of `info` that describe a cell."""
        return {
            "metrics": {n: values[n] for n in self.shown},
            "held_out": {n: values[n] for n in HELD_OUT},
            "curve": curve,
            "status": status,
            "source": source,
            "key": name,
            "divergence_probability": probability,
        }

    def invalid(self) -> Info:
        """What is said of a cell that an illegal move ended: every metric at its documented worst."""
        worst = {m.name: m.worst for m in self.table.metrics} | {"seconds": 0.0}
        return self.entry(worst, np.full(EPOCHS, model.CAP), "failed", "none", "", 0.0)

    def unfinished(self) -> Info:
        """What is said while no cell is complete."""
        zero = {m.name: 0.0 for m in self.table.metrics} | {"seconds": 0.0}
        return self.entry(zero, np.zeros(EPOCHS), "ok", "none", "", 0.0)

    def reward(self, info: Info) -> Floats:
        """(m,) oriented objectives of a scored cell."""
        return self.sign * np.array([info["metrics"][n] for n in self.names])


class Episode:
    """One episode: the cell under construction, what was scored, and the observation.

    Both forms of the environment are made of these, because cells have different sizes.
    """

    def __init__(self, judge: Judge, budget: float, key: int) -> None:
        self.judge, self.budget, self.key = judge, budget, key
        self.nodes: list[tuple[int, tuple[int, ...]]] = []
        self.spent = 0
        self.seen: dict[str, int] = {}
        m = len(judge.names)
        self.observation = np.zeros(MAX_NODES * _NODE + 2 * m + 3, np.float32)
        self.observation[-2 * m - 2 : -2] = np.concatenate([judge.low, judge.low])
        self.observation[-1] = 1.0

    def act(self, action: list[int]) -> tuple[Floats, bool, Info]:
        """Performs one action inside the space; returns rewards (m,), terminated and info."""
        error = ""
        try:
            if action[0] != END:
                self._add(node_of(action, len(self.nodes)))
                info = self.judge.unfinished() | {"cost": 0.0, "finished": False, "error": ""}
                return np.zeros(len(self.judge.names)), False, info
            cell = finish(self.nodes, action)
            name = key_of(cell)
            count = self.seen[name] = self.seen.get(name, 0) + 1
            arm = int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "little")
            info = self.judge.score(cell, name, draws.mix(draws.mix(self.key, arm), count))
        except InvalidRecipe as problem:
            info, error = self.judge.invalid(), f"{problem.rule}: {problem}"
        rewards = self.judge.reward(info)
        self._complete(rewards)
        return rewards, self.spent >= self.budget, info | {"cost": 1.0, "finished": True, "error": error}

    def _add(self, node: tuple[int, tuple[int, ...]]) -> None:
        at = len(self.nodes) * _NODE
        self.nodes.append(node)
        op, inputs = node
        self.observation[at + op] = 1.0
        for place, k in enumerate(inputs):
            self.observation[at + len(OPERATIONS) + place] = k / (_VECTORS - 1)
        self.observation[MAX_NODES * _NODE] = len(self.nodes) / MAX_NODES

    def _complete(self, rewards: Floats) -> None:
        """Clears the workbench and notes the score."""
        self.nodes = []
        self.spent += 1
        o, m = self.observation, len(rewards)
        o[: MAX_NODES * _NODE + 1] = 0.0
        seen = np.clip(rewards, self.judge.low, self.judge.high).astype(np.float32)
        o[-2 * m - 2 : -m - 2] = seen
        o[-m - 2 : -2] = np.maximum(o[-m - 2 : -2], seen)
        o[-2] = 1.0
        o[-1] = 1.0 - self.spent / self.budget

    def mask(self) -> npt.NDArray[np.int8]:
        """(sum of SIZES,) values of each part of an action that can be legal now, part after part."""
        count = len(self.nodes)
        mask = np.zeros(sum(SIZES), np.int8)
        mask[: END + 1] = count < MAX_NODES
        mask[END] = count > 0
        for slot in range(SLOTS):
            start = SIZES[0] + slot * _VECTORS
            mask[start + (slot == 0) : start + SOURCES + count] = 1
        return mask


def observation_space(judge: Judge) -> Box:
    """Bounds of the observation; see the index table of `NASBenchNLPCellEnv`."""
    ones = np.ones(MAX_NODES * _NODE + 1)
    low = np.concatenate([0.0 * ones, judge.low, judge.low, [0.0, 0.0]])
    high = np.concatenate([ones, judge.high, judge.high, [1.0, 1.0]])
    return Box(low.astype(np.float32), high.astype(np.float32), dtype=np.float32)


def mutate_actions(actions: Any, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """A mutated cell as (steps, 4) actions to be taken one after the other.

    Args:
        actions: The parent in the same form; None draws a random cell.
        rng: Source of randomness.
    """
    return actions_of(mutate(None if actions is None else cell_of(actions), rng))


def check_action(action: Any) -> list[int]:
    """An action as four Python ints.

    Raises:
        ValueError: Not four ints inside the space.
    """
    array = np.asarray(action) if isinstance(action, (np.ndarray, list, tuple)) else np.asarray(None)
    if array.shape == (len(SIZES),) and array.dtype.kind in "iu" and not (array < 0).any() and (array < SIZES).all():
        return array.tolist()  # type: ignore[no-any-return]
    raise ValueError(f"action must be four ints below {SIZES}, got {action!r}")


class NASBenchNLPCellEnv(HPOEnv):
    """Search for a recurrent cell by building it node by node.

    ## Description
    The search space of NAS-Bench-NLP itself (Klyuchnikov et al. 2020, section 3), not the released sample of it: a
    cell is a graph of at most 24 operations over the input vector and up to three hidden states. One step adds one
    node, or ends the cell. A complete cell is trained as a language model on WikiText-2: if its computation is among
    the trained ones, the table answers, otherwise a surrogate fitted to them. An episode builds `budget` cells.
    `hpo_envs.tables.cells` has the space as a library. Id: `NASBenchNLP-cell-v0`.

    ## Action Space
    `MultiDiscrete([8, 29, 29, 29])`: `[kind, a, b, c]`. Kinds 0 to 6 add a node: linear, blend (z, x, y), product,
    sum, tanh, sigmoid, leaky ReLU. Vectors: 0 none, 1 the input `x`, 2 to 4 the previous hidden states, 5 + j the
    j-th node of the cell. Activations read `a`; a linear reads those of a, b, c that are not 0, sums and products
    need two of them, a blend all three. Kind 7 ends the cell: those of a, b, c that name nodes become the new hidden
    states in this order, the first is the output; nodes that lead to none of them are removed. A legal cell uses `x`
    and exactly as many previous hidden states as it has new ones.

    An illegal move (too few inputs, a vector that does not exist, a 25th node, an end that breaks the last rule)
    ends that cell as invalid, at the worst score.

    ## Observation Space
    `Box`, float32. With m objectives:

    | index | content | range |
    |---|---|---|
    | 10j to 10j + 6 | operation of node j (0 to 23), one-hot; 0 if there is no such node | 0 to 1 |
    | 10j + 7 to 10j + 9 | its inputs, vector / 28 | 0 to 1 |
    | 240 | nodes of the cell / 24 | 0 to 1 |
    | 241 to 240 + m | reward(s) of the last complete cell | bounds of the metric |
    | 241 + m to 240 + 2m | best reward(s) so far, each objective on its own | as the reward |
    | 241 + 2m | whether a cell was completed | 0 to 1 |
    | 242 + 2m | budget left, as a share | 0 to 1 |

    ## Rewards
    The step that completes a cell is the evaluation: its reward is the negated log perplexity on the validation set
    after 50 epochs (`objective`). A diverged run and an invalid cell get the worst value, -50. All other steps have
    reward 0 and cost 0.

    ## Starting State
    An empty cell; rewards at the lower bound, full budget. The seed decides which of the trainings of a cell is seen.

    ## Episode End
    Terminated when `budget` cells are complete, invalid ones included, so after at most 25 x budget steps. Never
    truncated by itself.

    ## Information
    At reset: `table`, `kind` (`measured` or `surrogate`), `sha256` of the table, `action_mask`.
    At each step: `finished` (bool, whether the step completed a cell), `cost` (1 if so, else 0), `metrics` (dict of
    float: `validation_loss` and `train_loss` in nats, `parameters`, `seconds` of training; 0 while unfinished),
    `held_out` (dict: `test_loss`), `curve` ((50,) float64, validation log perplexity by epoch, 50 from divergence
    on), `status` (`ok`, `diverged`, `failed` for an invalid cell), `source` (`measured`, `surrogate`, `none`), `key`
    (canonical key of the cell, empty if there is none), `divergence_probability` (the surrogate's), `error` (rule
    and reason of an illegal move, else empty), `action_mask` ((95,) int8: for each part of an action, one after the
    other, the values that can be legal now; combinations of them may still be illegal).

    ## Arguments
    - `table="auto"`: `"measured"`, `"surrogate"` or a `Table`; cells that it does not have are scored by the
      surrogate in any case.
    - `objective="validation_loss"`: or `train_loss`, `parameters`, or a tuple of metrics for a vector reward.
    - `cost="evaluations"`: nothing else.
    - `budget=1`: complete cells of an episode; None = as many as the table has rows.

    ## Table
    `nasbenchnlp/wikitext2`, 345 runs of 265 computations (Apache-2.0). The surrogate is boosted trees on what an
    untrained network of the cell does; held out, R2 of the final validation log perplexity is .69 and Kendall's tau
    .70 (.40 and .51 with the residual noise that is served); training time R2 .78; divergence is rare (4 of 345 runs)
    and its probability little more than a base rate. `tables/datasets/nasbenchnlp/data/cells_report.json` has
    all figures.

    ## References
    Nikita Klyuchnikov, Ilya Trofimov, Ekaterina Artemova, Mikhail Salnikov, Maxim Fedorov and Evgeny Burnaev.
    NAS-Bench-NLP: Neural Architecture Search Benchmark for Natural Language Processing. arXiv:2006.07116, 2020.

    ## Version History
    - v0: initial version.
    """

    mutate = staticmethod(mutate_actions)

    def __init__(
        self,
        *,
        table: Any = "auto",
        objective: Objective = "validation_loss",
        cost: str = "evaluations",
        budget: float | None = 1,
    ) -> None:
        super().__init__()
        self.judge, self.budget = settings(table, objective, cost, budget)
        self.table, self.objectives, self.cost_unit = self.judge.table, self.judge.names, "evaluations"
        self.reward_bounds = np.stack([self.judge.low, self.judge.high], axis=1)
        self.action_space, self.observation_space = MultiDiscrete([*SIZES]), observation_space(self.judge)
        if self.judge.vector:
            self.reward_space = Box(self.judge.low, self.judge.high, dtype=np.float64)
            self.reward_dim = len(self.judge.names)
        self._run: Episode | None = None

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Info]:
        """Starts an episode with an empty cell."""
        super().reset(seed=seed)
        self._run = Episode(self.judge, self.budget, self._new_key(seed))
        info = {**provenance_info(self.table), "action_mask": self._run.mask()}
        return self._run.observation.copy(), info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, Info]:
        """Adds a node, or ends the cell.

        Raises:
            ValueError: The action is outside the space.
            ResetNeeded: No episode is running.
        """
        move = check_action(action)
        if not self._live or self._run is None:
            raise self._not_live()
        rewards, terminated, info = self._run.act(move)
        self._live = not terminated
        info["action_mask"] = self._run.mask()
        reward = rewards if self.judge.vector else float(rewards[0])
        return self._run.observation.copy(), reward, terminated, False, info

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """(95,) bool: for each part of an action, one after the other, the values that can be legal now."""
        if self._run is None:
            raise self._not_live()
        return self._run.mask().astype(bool)


class NASBenchNLPCellVectorEnv(HPOVectorEnv):
    """`NASBenchNLPCellEnv` for many episodes side by side, and its grammar as `mutate` too.

    Args:
        num_envs: Number of episodes.
        table: As in `NASBenchNLPCellEnv`, like the next three.
        objective: See there.
        cost: See there.
        budget: See there.
        autoreset_mode: `NEXT_STEP`, `SAME_STEP` or `DISABLED`.
        copy: False reuses the observation array.
    """

    mutate = staticmethod(mutate_actions)

    def __init__(
        self,
        num_envs: int = 1,
        *,
        table: Any = "auto",
        objective: Objective = "validation_loss",
        cost: str = "evaluations",
        budget: float | None = 1,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        copy: bool = True,
    ) -> None:
        self.judge, self.budget = settings(table, objective, cost, budget)
        self.table, self.objectives, self.cost_unit = self.judge.table, self.judge.names, "evaluations"
        self.reward_bounds = np.stack([self.judge.low, self.judge.high], axis=1)
        super().__init__(num_envs, observation_space(self.judge), MultiDiscrete([*SIZES]), autoreset_mode, copy)
        if self.judge.vector:
            self.reward_space = Box(self.judge.low, self.judge.high, dtype=np.float64)
            self.reward_dim = len(self.judge.names)
        self._runs: list[Episode] = [Episode(self.judge, self.budget, 0) for _ in range(self.num_envs)]
        self._out = np.zeros((self.num_envs, *self.single_observation_space.shape), np.float32)  # type: ignore[misc]

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """(num_envs, 95) bool, as in the scalar form."""
        return np.stack([run.mask() for run in self._runs]).astype(bool)

    def _start(self, index: npt.NDArray[np.intp], keys: draws.Keys, options: dict[str, Any] | None) -> Info:
        for i, key in zip(index.tolist(), keys.tolist(), strict=True):
            self._runs[i] = Episode(self.judge, self.budget, key)
        return {k: np.full(len(index), v) for k, v in provenance_info(self.table).items()}

    def _advance(self, actions: npt.NDArray[np.int64]) -> tuple[Any, npt.NDArray[np.bool_], Info]:
        done = [run.act(action) for run, action in zip(self._runs, actions.tolist(), strict=True)]
        rewards = np.stack([d[0] for d in done])
        infos = [d[2] for d in done]
        terminated = np.array([d[1] for d in done])
        return rewards if self.judge.vector else rewards[:, 0], terminated, _gather(infos)

    def _observe(self) -> npt.NDArray[np.float32]:
        np.stack([run.observation for run in self._runs], out=self._out)
        return self._out.copy() if self.copy else self._out

    def _check_actions(self, actions: Any) -> npt.NDArray[np.int64]:
        array = np.asarray(actions)
        if array.shape != (self.num_envs, len(SIZES)) or array.dtype.kind not in "iu":
            raise ValueError(
                f"actions must be ints of shape {(self.num_envs, len(SIZES))}, got shape {array.shape} and dtype "
                f"{array.dtype}"
            )
        outside = ((array < 0) | (array >= SIZES)).any(axis=1)
        if outside.any():
            raise ValueError(f"actions must be four ints below {SIZES}, got {array[outside][0].tolist()}")
        return array.astype(np.int64, copy=False)


def settings(table: Any, objective: Objective, cost: str, budget: float | None) -> tuple[Judge, float]:
    """Checks the arguments; returns the judge and the budget."""
    if cost != "evaluations":
        raise ValueError(f"cost must be evaluations, got {cost!r}")
    loaded = load_tables((TABLE,), table)[0]
    return Judge(loaded, objective), check_budget(budget, float(len(loaded)), "evaluations")


def _gather(infos: list[Info]) -> Info:
    """One dict of arrays from a list of dicts."""
    gathered: Info = {}
    for name, first in infos[0].items():
        values = [info[name] for info in infos]
        if isinstance(first, dict):
            gathered[name] = _gather(values)
        elif isinstance(first, str):
            # Objects, because keys are of any length.
            gathered[name] = np.array(values, dtype=object)
        else:
            gathered[name] = np.stack(values) if isinstance(first, np.ndarray) else np.array(values)
    return gathered
