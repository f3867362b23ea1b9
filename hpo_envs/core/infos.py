"""Infos of vectorized environments: `_key` masks, lazy action masks, statuses as codes, configurations, provenance."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from hpo_envs.tables.table import STATUSES, Hyperparameter, Table

Info = dict[str, Any]

ALL = slice(None)
"""All episodes of a batch: slices are read and written without copies."""


class MaskedInfo(Info):
    """Batched info that computes its `action_mask`, the largest entry, on the first read; most callers never read it.

    Otherwise it is a dict, which Gymnasium's wrappers can also construct; reading all values, copying and pickling read
    the mask, too.
    """

    __slots__ = ("make",)
    make: Callable[[], npt.NDArray[Any]]

    @classmethod
    def of(cls, info: Info, make: Callable[[], npt.NDArray[Any]], reported: npt.NDArray[np.bool_]) -> MaskedInfo:
        """Return the info with an (n, k) mask, which `make` returns as a fresh bool or int8 array on the first read.

        `reported` (n,): whether each environment reports the mask; the rows of the others become zeros.
        """
        masked = cls(info)
        masked.make = make
        masked["action_mask"], masked["_action_mask"] = None, reported
        return masked

    def __getitem__(self, key: str) -> Any:
        """Return the value of a key; on the first read, compute and store that of `action_mask`."""
        value = dict.__getitem__(self, key)  # a third faster than by `super()`, and every reading comes here
        if value is None and key == "action_mask":
            value = self.make().view(np.int8)
            value[~self["_action_mask"]] = 0
            self[key] = value
        return value

    # As in any mapping, by the two methods above and below: those of a dict would read no mask.
    get, items, values, pop = Mapping.get, Mapping.items, Mapping.values, MutableMapping.pop  # type: ignore[assignment]
    __eq__ = Mapping.__eq__
    __hash__ = None

    def __iter__(self) -> Iterator[str]:
        """Iterate over the keys; with this method, `dict(info)` and `{**info}` read values by `__getitem__`."""
        return super().__iter__()

    def copy(self) -> Info:
        """Return a copy as a plain dict, with the mask computed."""
        return dict(self)

    def __or__(self, other: Any) -> Any:
        """Return a plain dict merged with another."""
        return dict(self) | other

    def __repr__(self) -> str:
        """Format like a dict."""
        return repr(dict(self))

    def __reduce__(self) -> Any:
        """Pickle and copy as a plain dict."""
        return dict, (dict(self),)


def change_mask(info: Info, change: Callable[[npt.NDArray[Any]], npt.NDArray[Any]] | None) -> None:
    """Apply a function to the action mask of an info, in place, if it has one; None removes the mask."""
    if "action_mask" not in info:
        return
    if change is None:
        del info["action_mask"]
        info.pop("_action_mask", None)
    elif isinstance(info, MaskedInfo):
        before = info.make
        info.make = lambda: change(before())
        info["action_mask"] = None
    else:
        info["action_mask"] = change(info["action_mask"])


def numeric(values: Mapping[str, Any]) -> Info:
    """Return a copy of an info, or of a dict in an info, with Python numbers converted to NumPy's."""
    return {k: make(v) if (make := _NUMPYS.get(type(v))) else v for k, v in values.items()}


_NUMPYS: dict[type, Callable[[Any], Any]] = {bool: np.bool_, int: np.int64, float: np.float64}


def mapped(value: Any, change: Callable[[Any], Any]) -> Any:
    """Apply a function to each array of a nested batched value; return the results in the same structure."""
    return {k: mapped(v, change) for k, v in value.items()} if isinstance(value, dict) else change(value)


def scatter(value: Any, index: npt.NDArray[np.intp], n: int) -> Any:
    """Spread (k, ...) values to (n, ...) at `index`, zeros (None for objects) elsewhere; unchanged if k = n."""

    def spread(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        make = np.empty if array.dtype.kind == "O" else np.zeros  # objects are None
        whole = make((n, *array.shape[1:]), array.dtype)
        whole[index] = array
        return whole

    return value if len(index) == n else mapped(value, spread)


def of_one(info: Info, i: int, names: Iterable[str]) -> Info:
    """Return the entries with these names that environment i of a batch reported."""
    return {k: entry(info[k], i) for k in names if k in info and info["_" + k][i]}


def entry(value: Any, i: int = 0) -> Any:
    """Return entry i of a nested batched value, without `_key` masks and keys that environment i did not report."""
    if not isinstance(value, dict):
        return value[i]
    return {k: entry(v, i) for k, v in value.items() if k[0] != "_" and ("_" + k not in value or value["_" + k][i])}


def single(batch: Info, table: Table, row: int) -> Info:
    """Turn the info of a batch of one, about a row of a table, into that of a scalar environment."""
    info: Info = entry(batch) | {"status": str(batch["status"][0])}
    return info | {"config": numeric(table.config(row))} if "config" in info else info


def merge(info: Info, new: Info, index: npt.NDArray[np.intp], n: int) -> None:
    """Add the (n, ...) info of the environments at `index` to a batched info, with masks."""
    fresh = np.zeros(n, bool)
    fresh[index] = True
    for key, value in new.items():
        if key in info:
            assign(info[key], value, index)
            info["_" + key] = info["_" + key] | fresh
        else:
            info[key], info["_" + key] = value, fresh


def assign(target: Any, value: Any, index: npt.NDArray[np.intp]) -> None:
    """Copy the entries at `index` of a nested batched value to another one of equal structure, `target`."""
    if isinstance(target, dict):
        for k in target:
            assign(target[k], value[k], index)
    else:
        target[index] = value[index]


def blank(value: Any, index: npt.NDArray[np.intp]) -> None:
    """Set the entries at `index` of a nested batched value to zero, None (objects) or empty (texts)."""
    mapped(value, lambda array: array.__setitem__(index, {"O": None, "U": ""}.get(array.dtype.kind, 0)))


class InfoColumn(np.ndarray):
    """An (n,) array of texts, dicts or arrays that exports numbers through DLPack.

    Wrappers that convert a whole info to tensors of another library, such as Gymnasium's `NumpyToTorch`, get a hash for
    each text or dict and a row for each array; NumPy and Python get the objects themselves.
    """

    def numbers(self) -> npt.NDArray[Any]:
        """Return (n,) int64 hashes of texts or dicts, 0 if empty or None; or (n, ...) stacked arrays, 0 for None."""
        values = self.tolist()
        first = next((v for v in values if isinstance(v, np.ndarray)), None)
        if first is not None:
            return np.stack([np.zeros_like(first) if v is None else v for v in values])
        return np.array([_hash(v) for v in values], np.int64)

    def __dlpack__(self, **options: Any) -> Any:
        """Export the array of `numbers` through DLPack."""
        return self.numbers().__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        """Return the device of NumPy arrays, the CPU."""
        return np.empty(0).__dlpack_device__()


def column(values: Iterable[Any]) -> InfoColumn:
    """Return an (n,) `InfoColumn` with dtype object that holds these values."""
    listed = list(values)
    made: Any = np.empty(len(listed), dtype=object).view(InfoColumn)
    for i, value in enumerate(listed):  # not at once: arrays of one length would be taken for a matrix
        made[i] = value
    return made  # type: ignore[no-any-return]


def configs_of(space: Iterable[Hyperparameter], first: int = 0) -> Callable[[npt.NDArray[np.float64]], Info]:
    """Return a function from (k, columns) raw values, as in tables, to (k,) natural values by name.

    `first` is the column of the first hyperparameter.
    """
    how = [(h.name, column(h.values) if h.kind == "categorical" else None, h.complement) for h in space]
    return functools.partial(_configs, how, first)


def _configs(how: Sequence[tuple[str, InfoColumn | None, bool]], first: int, raw: npt.NDArray[np.float64]) -> Info:
    found: Info = {}
    for j, (name, choices, complement) in enumerate(how, first):
        x = raw[:, j]
        found[name] = choices.take(x.astype(np.intp)) if choices is not None else 1.0 - x if complement else x
    return found


def _hash(text: Any) -> int:
    return int.from_bytes(hashlib.sha256(str(text).encode()).digest()[:8], "little", signed=True) if text else 0


STATUS_COLUMN: InfoColumn = np.array(STATUSES).view(InfoColumn)
"""All statuses; `STATUS_COLUMN.take(codes)` are the texts of codes."""
STATUS_CODES = {name: np.int64(code) for code, name in enumerate(STATUSES)}
"""`info["status_code"]` of each status."""


KINDS = ("measured", "surrogate")
"""Kinds of tables; `info["kind_code"]` is an index into them."""


def provenance_info(tables: Sequence[Table], index: int = 0) -> Info:
    """Return information on the table `tables[index]` of an episode for the info of `reset`.

    Texts `table`, `kind` and `sha256`; as numbers `table_code`, the index; `kind_code`, an index in `KINDS`; and
    `sha256_code`, (32,) uint8.
    """
    table = tables[index]
    sha256, kind = table.provenance.sha256, table.provenance.kind
    code = np.frombuffer(bytes.fromhex(sha256), np.uint8).copy()
    codes = {"table_code": np.int64(index), "kind_code": np.int64(KINDS.index(kind)), "sha256_code": code}
    return {"table": table.name, "kind": kind, "sha256": sha256, **codes}
