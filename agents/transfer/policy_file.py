"""Files of trained policies (.npz): arrays and a record in JSON; reading a file executes nothing in it."""

from __future__ import annotations

import functools
import hashlib
import io
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hpo_envs.agents.models import Floats, candidate_net, candidate_set
from hpo_envs.agents.models.gp.stacked import START
from hpo_envs.tables.checks import regular
from hpo_envs.tables.files import atomic, unpacked

RECORD, FORMAT = "record", 3

MOST_BYTES = 16 << 20
"""Largest size of a file in bytes, and of its unpacked entries together."""

SHIPPED = Path(__file__).with_name("data") / "policy.npz"
"""Weights and priors of the agent `learned-policy`."""

IN_CONTEXT = SHIPPED.with_name("in_context.npz")
"""Weights of the agent `in-context`."""


@dataclass(frozen=True)
class PolicyWeights:
    """Trained weights of a policy.

    Attributes:
        name: Name of the weights.
        languages: Languages of all tables that they were trained on.
        features: Groups of columns that the networks read, see `candidate_set.GROUPS`.
        candidates: Size of the candidate sets in training.
        hidden: Units of each layer; 0: scores are linear in the columns.
        members: Arrays of one network per training seed, see `candidate_net.shapes`.
        feature_names: Names of the hyperparameters that the networks read, in order; empty: any.
        numbers: Trained hyperparameters of the stacked process; missing ones have the values of `START`.
    """

    name: str
    languages: frozenset[str]
    features: tuple[str, ...]
    candidates: int
    hidden: int
    members: tuple[candidate_net.NetArrays, ...]
    feature_names: tuple[str, ...] = ()
    numbers: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class SourceNetworks:
    """Small networks, each trained on one of J tables of a family, that predict the scores of any configuration.

    Attributes:
        names: Names of the d features.
        languages: Languages of each of the J tables.
        networks: (J, h, d + 2) input weights, bias and output weight of each of h hidden units.
        spaces: (J, 3, d) means and deviations of each table's features, and length-scales fitted to it.
    """

    names: tuple[str, ...]
    languages: tuple[tuple[str, ...], ...]
    networks: Floats
    spaces: Floats

    def without(self, languages: Sequence[str]) -> SourceNetworks:
        """Return the networks of the tables that have none of the given languages, possibly none."""
        kept = [j for j, known in enumerate(self.languages) if not {*known} & {*languages}]
        return SourceNetworks(
            self.names, tuple(self.languages[j] for j in kept), self.networks[kept], self.spaces[kept]
        )

    def predict(self, features: Floats) -> Floats:
        """Return (J, n) scores predicted for (n, d) features in [0, 1], on a different scale for each table."""
        d = features.shape[1]
        units = np.tanh(self.networks[..., :d] @ (2.0 * features - 1.0).T + self.networks[..., d : d + 1])
        return np.asarray((self.networks[:, None, :, d + 1] @ units)[:, 0])

    def distances(self, features: Floats) -> Floats:
        """Return the (J,) distances of the tables' features from (n, d) features, see `gp.stacked.distance`."""
        own = np.stack([features.mean(axis=0), features.std(axis=0)])
        return np.asarray(np.sqrt(np.square(self.spaces[:, :2] - own).sum(axis=1).mean(axis=1)))


@dataclass(frozen=True)
class Contents:
    """Contents of a file: trained weights, priors (one for each of some families), and the sha256 of the file."""

    trained: tuple[PolicyWeights, ...]
    priors: tuple[SourceNetworks, ...]
    sha256: str


def write(file: Path | str, trained: Sequence[PolicyWeights], priors: Sequence[SourceNetworks] = ()) -> Path:
    """Write weights and priors, arrays as float16; return the path, with `.npz` added to a name without a suffix.

    Raises:
        ValueError: A number is NaN, infinite or beyond the range of float16.
    """
    path = Path(file) if Path(file).suffix else Path(f"{file}.npz")
    entries: dict[str, npt.NDArray[Any]] = {}
    record: dict[str, Any] = {"format": FORMAT, "trained": [], "priors": []}
    for i, t in enumerate(trained):
        plain = {k: v for k, v in vars(t).items() if k not in ("members", "languages")}
        record["trained"].append(plain | {"languages": sorted(t.languages), "members": len(t.members)})
        entries |= {f"{i}/{k}/{name}": w for k, m in enumerate(t.members) for name, w in m.items()}
    for i, p in enumerate(priors):
        record["priors"].append({"names": p.names, "languages": p.languages, "units": p.networks.shape[1]})
        entries |= {f"prior/{i}/networks": p.networks, f"prior/{i}/spaces": p.spaces}
    with np.errstate(over="ignore"):
        arrays: dict[str, Any] = {name: array.astype("<f2") for name, array in entries.items()}
    if bad := [name for name, array in arrays.items() if not np.isfinite(array).all()]:
        raise ValueError(f"weights must be finite numbers of float16, got others in {bad[0]}")
    np.savez_compressed(stream := io.BytesIO(), **arrays | {RECORD: json.dumps(record)})
    atomic.write(path, stream.getvalue())
    return path


def read(file: str, sha256: str | None = None) -> Contents:
    """Return the contents of a file, without executing anything in it.

    Args:
        file: Path of the file.
        sha256: Required sha256 of the file; None: any.

    Raises:
        ValueError: The file does not exist, is larger than `MOST_BYTES`, does not have the format of `write`, or has
            another sha256.
    """
    try:
        found = _contents(regular(Path(file), MOST_BYTES).read_bytes())
    except Exception as error:  # zipfile, zlib and json have a dozen of their own for bytes that someone made up
        reason = " ".join(f"{type(error).__name__} {error}".split())[:200]
        raise ValueError(
            f"policy must be a file of hpo_envs.integrations.candidate_policy.save_policy, got {file} ({reason})"
        ) from None
    if sha256 not in (None, found.sha256):
        raise ValueError(f"{file} must have sha256 {sha256}, got {found.sha256}")
    return found


@functools.lru_cache(maxsize=8)
def _contents(data: bytes) -> Contents:
    archive = unpacked.arrays(data, MOST_BYTES)
    record = json.loads(str(archive[RECORD]))
    if record["format"] != FORMAT:
        raise ValueError(f"format {record['format']!r}")
    trained = tuple(_trained(archive, i, t) for i, t in enumerate(record["trained"]))
    priors = tuple(_prior(archive, i, p) for i, p in enumerate(record["priors"]))
    return Contents(trained, priors, hashlib.sha256(data).hexdigest())


def arguments(file: str) -> dict[str, Any]:
    """Return arguments of `policy.Policy`: the absolute path of a `file` and its `sha256`; errors as in `read`."""
    return {"file": str(Path(file).resolve()), "sha256": read(file).sha256}


def _trained(archive: Mapping[str, npt.NDArray[Any]], i: int, record: Mapping[str, Any]) -> PolicyWeights:
    features, names = (_texts(record[k]) for k in ("features", "feature_names"))
    hidden = _count(record["hidden"], 512, 0)
    members, candidates = _count(record["members"], 16), _count(record["candidates"], 10**6)
    shapes = candidate_net.shapes(candidate_set.columns(features), hidden)
    numbers = {str(k): float(v) for k, v in record["numbers"].items()}
    if not set(numbers) <= set(START) or not all(map(math.isfinite, numbers.values())):
        raise ValueError("numbers of another process")
    made = tuple(
        {name: _array(archive, f"{i}/{k}/{name}", shape).astype(np.float32) for name, shape in shapes.items()}
        for k in range(members)
    )
    languages = frozenset(_texts(record["languages"]))
    return PolicyWeights(str(record["name"]), languages, features, candidates, hidden, made, names, numbers)


def _prior(archive: Mapping[str, npt.NDArray[Any]], i: int, record: Mapping[str, Any]) -> SourceNetworks:
    names, languages = _texts(record["names"]), tuple(_texts(value) for value in record["languages"])
    j, d, units = len(languages), len(names), _count(record["units"], 512)
    networks = _array(archive, f"prior/{i}/networks", (j, units, d + 2))
    return SourceNetworks(names, languages, networks, _array(archive, f"prior/{i}/spaces", (j, 3, d)))


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(v, str) for v in value):
        raise ValueError(f"names must be a list of texts, got {value!r}")
    return tuple(value)


def _count(value: Any, most: int, least: int = 1) -> int:
    if type(value) is not int or not least <= value <= most:
        raise ValueError(f"counts must be ints in [{least}, {most}], got {value!r}")
    return value


def _array(archive: Mapping[str, npt.NDArray[Any]], name: str, shape: tuple[int, ...]) -> npt.NDArray[np.float64]:
    array = archive[name]
    if array.dtype != "<f2" or array.shape != shape or not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite float16 numbers of shape {shape}, got {array.dtype} {array.shape}")
    return array.astype(np.float64)


@functools.cache
def shipped() -> Contents:
    """Return the contents of `SHIPPED`, read by the first call."""
    return read(str(SHIPPED))
