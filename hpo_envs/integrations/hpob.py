"""Tables, environments and splits of tasks from HPO-B's files, with the initial designs of its test tasks."""

import functools
import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np

from hpo_envs.benchmarks.tasks import PARTS, TaskSplit
from hpo_envs.families import registry
from hpo_envs.tables import frames, user
from hpo_envs.tables.checks import one_of, regular, shown
from hpo_envs.tables.table import Hyperparameter, Provenance, Table
from hpo_envs.tables.user.deciding import definitions

CITATION = (
    "Sebastian Pineda Arango, Hadi S. Jomaa, Martin Wistuba and Josif Grabocka. HPO-B: A Large-Scale Reproducible "
    "Benchmark for Black-Box HPO based on OpenML. NeurIPS Datasets and Benchmarks 2021."
)
LICENCE = "MIT (HPO-B); its evaluations are OpenML's, CC-BY"
UPSTREAM = "machinelearningnuremberg/HPO-B"

FILES = {part: f"meta-{part}-dataset.json" for part in PARTS}
DESIGNS = "bo-initializations.json"
VERSIONS = ("v2", "v3")


class HPOB:
    """The tasks in the folder `hpob-data` of HPO-B (Pineda Arango et al. 2021).

    Files are read on the first use of a part. Responses are accuracies, which are maximised; hyperparameters are `x0`,
    `x1`, ... in HPO-B's encoding, mostly in [0, 1].

    Args:
        folder: Folder with `bo-initializations.json` and the `meta-PART-dataset.json` of each part; `tasks(part)` and
            `table` of `v3` need only the file of that part.
        version: `v3` has a train, a validation and a test part. `v2` has all of its tasks in its test part, as in the
            released handler: those of the search spaces of `v3`'s train part.

    Raises:
        ValueError: Unknown version.
        FileNotFoundError: On the first use of a file, it is not in the folder.
    """

    def __init__(self, folder: str | Path, version: Literal["v2", "v3"] = "v3") -> None:
        self.folder, self.version = Path(folder), one_of("version", version, VERSIONS)

    def tasks(self, part: str = "test") -> Iterator[tuple[str, str]]:
        """Yield (search space, data set) of each task of a part.

        Raises:
            ValueError: Unknown part.
        """
        for space, sets in self._part(one_of("part", part, [*FILES])).items():
            yield from ((space, dataset) for dataset in sets)

    def table(self, space: str, dataset: str) -> Table:
        """Return the table of a task; until the process ends, its id is `TableHPO-hpob-SPACE-DATASET-v0`.

        Rows are in hash order; `source_index` has their places in the file. `hpo_envs.tables.user.save` stores a table.

        Raises:
            ValueError: The task is unknown, or its file has arrays of another shape.
        """
        parts = FILES if self.version == "v3" else ("test",)
        for part in sorted(parts, key=lambda p: not (self.folder / FILES[p]).is_file()):  # missing ones last
            found = self._part(part).get(space, {}).get(dataset)
            if found is not None:
                table = _table(space, dataset, found, self.version, part)
                registry.find(f"TableHPO-{user.check_name(table.name)}-v0")  # so that gym.make knows the id
                return table
        raise ValueError(f"space and data set must be a task of HPO-B {self.version}, got {space!r} and {dataset!r}")

    def split(self) -> TaskSplit:
        """Return the ids of all tasks as a `TaskSplit`, for agents that learn from source tasks; creates all tables."""
        parts = {}
        for part in FILES:
            made = [self.table(*task).name.removeprefix(user.PREFIX) for task in self.tasks(part)]
            parts[part] = tuple((f"TableHPO-{name}-v0", dict[str, Any]()) for name in made)
        return TaskSplit(f"HPO-B-{self.version}", parts["train"], parts["validation"], parts["test"])

    def designs(self, space: str, dataset: str) -> dict[str, list[int]]:
        """Return HPO-B's initial designs of a test task by name, `test0` to `test4`.

        A design is a list of actions, rows of the table, of an environment made with `shuffle=False`.

        Raises:
            ValueError: There are none for the task.
        """
        known = self._read(DESIGNS).get(space, {}).get(dataset)
        if known is None:
            raise ValueError(f"initial designs must be those of a test task, got {space!r} and {dataset!r}")
        row = np.argsort(self.table(space, dataset).source_index)
        for name, numbers in known.items():
            if not all(type(i) is int and 0 <= i < len(row) for i in numbers):
                raise ValueError(f"design {name} of {space}/{dataset} must have rows below {len(row)}, got {numbers}")
        return {name: [int(row[i]) for i in numbers] for name, numbers in known.items()}

    def _part(self, part: str) -> Mapping[str, Mapping[str, Any]]:
        if self.version == "v3":
            return self._read(FILES[part])
        return self._all if part == "test" else {}

    @functools.cached_property
    def _all(self) -> dict[str, dict[str, Any]]:
        """All tasks of v2, by search space and data set: those of every part in the search spaces of the train part."""
        train, test, validation = (self._read(FILES[p]) for p in ("train", "test", "validation"))
        return {s: {**sets, **test.get(s, {}), **validation.get(s, {})} for s, sets in train.items()}

    @functools.cache  # noqa: B019 (one folder per process)
    def _read(self, name: str) -> dict[str, Any]:
        with regular(self.folder / name).open(encoding="utf-8") as file:
            try:
                data: Any = json.load(file)
            except ValueError as error:
                data = error
        if not isinstance(data, dict) or not all(isinstance(sets, dict) for sets in data.values()):
            raise ValueError(f"{self.folder / name} must be JSON of search spaces and data sets, got {shown(data)}")
        return data


def _table(space: str, dataset: str, data: Mapping[str, Any], version: str, part: str) -> Table:
    try:
        x, y = (np.array(data[key], dtype=np.float64) for key in "Xy")
    except (LookupError, TypeError, ValueError) as error:
        raise ValueError(f"{space}/{dataset} must have arrays X and y, got {error!r}") from None
    if x.ndim != 2 or y.shape not in ((len(x),), (len(x), 1)) or not np.isfinite(y).all():
        got = f"{x.shape} and {y.shape}"
        raise ValueError(f"X and y of {space}/{dataset} must be (n, d) and (n, 1), y finite, got {got}")
    low, high = np.minimum(x.min(axis=0), 0.0), np.maximum(x.max(axis=0), 1.0)
    axes = tuple(Hyperparameter(f"x{j}", "float", float(low[j]), float(high[j])) for j in range(x.shape[1]))
    metric, note = definitions.metric("accuracy", y, "max", None)
    digest = hashlib.sha256(json.dumps([data["X"], data["y"]]).encode()).hexdigest()
    notes = (f"HPO-B {version}, {part} part, search space {space}, data set {dataset}", f"accuracy: {note}")
    table = Table(
        name=user.PREFIX + user.check_name(f"hpob-{space}-{dataset}"), keys=tuple(f"row-{i}" for i in range(len(x))),
        metrics=(metric,), values=y.reshape(len(x), 1, 1, 1), cost=np.ones((len(x), 1, 1)),
        provenance=Provenance("measured", UPSTREAM, digest[:40], LICENCE, CITATION, notes=notes), space=axes, configs=x,
        feature_names=tuple(h.name for h in axes), features=np.clip((x - low) / (high - low), 0.0, 1.0),
        source_index=np.arange(len(x)), status=np.zeros((len(x), 1), np.uint8),
    )  # fmt: skip
    return user.remember(frames.hashed(table))
