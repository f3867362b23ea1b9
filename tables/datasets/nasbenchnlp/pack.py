"""Pack the tables from upstream's files: `python -m hpo_envs.tables.datasets.packing nasbenchnlp [--check]`.

Quirks of the logs: recipe id 1002429 was run twice; the recipe is a JSON string inside the JSON log; losses may be NaN.
Quirks of `RNN_parameters.csv`: a second header is glued to the end of line 12346; after it come duplicates with NaN for
earlier ids, header lines and names that are not logs. Quirks of the features are in `features`.
"""

import re
from collections.abc import Sequence

import numpy as np

from hpo_envs.tables import store
from hpo_envs.tables.cells.canonical import key
from hpo_envs.tables.cells.recipe import Cell
from hpo_envs.tables.datasets import nasbenchnlp as nas
from hpo_envs.tables.datasets import packing
from hpo_envs.tables.datasets.nasbenchnlp.build import FEATURE_DECIMALS, LOSS_DECIMALS, PACKS, TICK, WORDS
from hpo_envs.tables.datasets.nasbenchnlp.features import group, read_released, row_features
from hpo_envs.tables.datasets.nasbenchnlp.logs import TrainingLog, read_archive
from hpo_envs.tables.files import packs
from hpo_envs.tables.table import Floats


def make() -> packing.Packs:
    """Return the arrays of both packs."""
    released = read_released(store.read(nas.RELEASED_FEATURES), nas.RELEASED_FEATURES)
    logs = read_archive(store.read(nas.LOGS), nas.LOGS)
    final = read_final(store.read(nas.PARAMETERS).decode("utf-8-sig"))
    return {PACKS[nas.WIKITEXT2]: curves(logs, released), PACKS[nas.PTB_FINAL]: final_losses(final, released)}


def curves(logs: Sequence[TrainingLog], released: dict[int, Floats]) -> dict[str, packs.Array]:
    """Runs grouped by recipe, in the order of the first run.

    Returns:
        `keys` (recipes,), `repeats` (recipes,) runs of each, `parameters` (recipes,), `features` (recipes, features);
        `architectures` (runs,) upstream's ids, `losses` (runs, epochs, 3) float32 sums, NaN if there is none,
        `ticks` (runs, epochs) in units of `TICK` seconds, 0 for an epoch that was not trained.
    """
    by_recipe: dict[str, list[TrainingLog]] = {}
    for log in logs:
        by_recipe.setdefault(log.recipe, []).append(log)
    cells = [runs[0].cell for runs in by_recipe.values()]
    known = [
        next((released[g] for log in runs if (g := group(log.architecture)) in released), None)
        for runs in by_recipe.values()
    ]
    ordered = [log for runs in by_recipe.values() for log in runs]
    losses = np.full((len(ordered), nas.EPOCHS, len(WORDS)), np.nan, np.float32)
    ticks = np.zeros((len(ordered), nas.EPOCHS))
    for run, log in enumerate(ordered):
        end = len(log.seconds)
        losses[run, :end], ticks[run, :end] = log.losses * WORDS, log.seconds / TICK
        if not np.array_equal(losses[run, :end].astype(np.float64) / WORDS, log.losses, equal_nan=True):
            raise ValueError(f"losses of architecture {log.architecture} must be float32 sums over {WORDS}")
    return {
        "keys": np.array(unique_keys(cells), "S"),
        "repeats": packs.smallest(np.array([*map(len, by_recipe.values())])),
        "parameters": packs.smallest(np.array([runs[0].parameters for runs in by_recipe.values()])),
        "features": packs.scaled(row_features(cells, known), FEATURE_DECIMALS),
        "architectures": packs.smallest(np.array([log.architecture for log in ordered])),
        "losses": losses,
        "ticks": packs.scaled(ticks),
    }


def unique_keys(cells: Sequence[Cell]) -> list[str]:
    """Canonical keys; the second cell of one computation gets `#2`, the third `#3`, ..."""
    seen: dict[str, int] = {}
    keys = []
    for cell in cells:
        k = key(cell)
        seen[k] = seen.get(k, 0) + 1
        keys.append(k if seen[k] == 1 else f"{k}#{seen[k]}")
    return keys


def final_losses(final: dict[int, tuple[float, float]], released: dict[int, Floats]) -> dict[str, packs.Array]:
    """Seeds grouped by architecture, in the order of the ids.

    Returns:
        `ids` (groups,), `repeats` (groups,) seeds of each, `parameters` (groups,), `features` (groups, features),
        `losses` (groups, seeds) integers, 0 for a seed that diverged or does not exist.
    """
    groups: dict[int, list[tuple[float, float]]] = {}
    for i in sorted(final):
        groups.setdefault(group(i), []).append(final[i])
    ids = [g for g in sorted(groups) if g in released]
    losses, sizes = np.zeros((len(ids), nas.PTB_REPEATS)), []
    for row, g in enumerate(ids):
        losses[row, : len(groups[g])] = np.nan_to_num([loss for loss, _ in groups[g]])
        sizes.append({size for _, size in groups[g]})
    if any(len(of_group) != 1 for of_group in sizes):
        raise ValueError("seeds of one architecture must have as many parameters")
    return {
        "ids": packs.smallest(np.array(ids)),
        "repeats": packs.smallest(np.array([len(groups[g]) for g in ids])),
        "parameters": packs.scaled([of_group.pop() for of_group in sizes]),
        "features": packs.scaled([released[g] for g in ids], FEATURE_DECIMALS),
        "losses": packs.scaled(losses, LOSS_DECIMALS),
    }


_LINE = re.compile(r"log_stats_model_(\d+)_[^,]*\.json,([^,]+),[^,]+,[^,]+,([^,]+),([^,]+)$")


def read_final(text: str) -> dict[int, tuple[float, float]]:
    """(last-epoch test loss or NaN, parameters) by id: from its first line with both, else its last with parameters."""
    found: dict[int, tuple[float, float]] = {}
    for line in text.splitlines():
        if match := _LINE.match(line.partition("log name")[0]):
            old, new = found.get(int(match[1]), (np.nan, np.nan)), (float(match[2]), float(match[3]))
            found[int(match[1])] = new if np.isnan(old[0]) and not np.isnan(new[1]) else old
    return found
