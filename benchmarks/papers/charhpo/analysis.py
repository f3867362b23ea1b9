"""Every number of the paper's Tables 3 to 6 and 8 to 12 from the sweeps, compared with the published one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np

from hpo_envs.benchmarks.analysis import sensitivity as sens
from hpo_envs.benchmarks.analysis.sensitivity import Variant
from hpo_envs.benchmarks.papers import common
from hpo_envs.benchmarks.papers.charhpo.settings import Key, Sweep, expected
from hpo_envs.tables.datasets.charhpo.hyperparameters import deactivate

Value = float | str
Sweep3 = tuple[str, str, str]
"""Task, language, architecture."""


def similarity(sweep: Sweep, variant: Variant, batch_size: bool) -> list[dict[str, float]]:
    """Return rho, maxima and change of a sweep for each run that ties for the best; only rho depends on the run.

    `variant` is `paper` or `published`; with `batch_size`, runs are similar by batch size alone (section 5.3).
    """
    a = sweep.accuracy
    names = [h.name for h in sweep.table.space]
    configs = sweep.sampled[:, [names.index("batch_size")]] if batch_size else sweep.ranked(variant == "published")
    # Whole numbers: equal averages stay equal.
    ranks = np.rint(sens.rank_similarity(configs) * configs.shape[1])
    along = {"maxima": float(sens.maxima(ranks, a)), "change": sens.average_change(ranks, a, variant)}
    best = np.flatnonzero(a == a.max())
    return [{"rho": sens.performance_correlation(ranks, a, int(i), variant), **along} for i in best]


def of_sweep(sweep: Sweep, variant: Variant) -> dict[str, list[float]]:
    """Return the values of Tables 10 to 12 for a sweep, by name.

    Those of Table 12 (with `bs_`: by batch size alone) occur once for each run that ties for the best.
    """
    a = sweep.accuracy
    out = {f"rel@{k}": [sens.relative_at(a, k, variant)] for k in sens.KS}
    out |= {f"mean@{k}": [sens.mean_at(a, k, variant)] for k in sens.KS}
    out["best"] = [sens.best_equivalent(a, variant=variant)]
    out["equivalent"] = [sens.expected_equivalent(a, variant=variant)]
    for prefix, batch_size in (("", False), ("bs_", True)):
        for tied in similarity(sweep, variant, batch_size):
            for name, value in tied.items():
                out.setdefault(prefix + name, []).append(value)
    return out


TABLES = {10: ("rel@",), 11: ("mean@", "best", "equivalent"), 12: ("rho", "maxima", "change", "bs_")}


def values(sweeps: Sequence[Sweep], variant: Variant = "published") -> dict[Key, list[Value]]:
    """Return our values by key; several for a key if runs tie for the best.

    Averages (Tables 3 to 5, rows of Table 6) are of printed values, which `entries` takes from the closest candidates;
    they are therefore not included, see `averages`.
    """
    out: dict[Key, list[Value]] = {}
    for s in sweeps:
        for name, tied in of_sweep(s, variant).items():
            table = next(t for t, prefixes in TABLES.items() if name.startswith(prefixes))
            out[table, s.task, s.lang, s.architecture, name] = [*tied]
        a = s.accuracy
        overall = {"max": a.max(), "mean": a.mean(), "zero": 100.0 * (a == 0).mean(), "test": s.test}
        for name, value in overall.items():
            out[6, s.task, s.lang, s.architecture, name] = [float(value)]
        for name, choices in best_configs(s).items():
            table = 8 if name in OPTIMISATION else 9
            out[table, s.task, s.lang, s.architecture, name] = choices
    return out


OPTIMISATION = (
    "batch_size", "learning_rate", "beta1", "beta2", "label_smoothing", "scheduler", "warmup_steps", "factor",
    "patience", "min_lr",
)  # fmt: skip
"""Columns of Table 8; Table 9 has the others."""


def best_configs(sweep: Sweep) -> dict[str, list[Value]]:
    """Return the values of each column of Tables 8 and 9, one per row that ties for the best, in file order.

    Unlike all others, these two tables use the whole file: the Irish LSTM's best row is the 239th.
    """
    configs = deactivate(sweep.table.space, sweep.file)
    out: dict[str, list[Value]] = {}
    for row in np.flatnonzero(sweep.file_accuracy == sweep.file_accuracy.max()):
        config = {h.name: h.natural(v) for h, v in zip(sweep.table.space, configs[row], strict=True)}
        # Appendix A: warmup steps are the warmup samples divided by the batch size.
        config["warmup_steps"] = config.pop("warmup_samples") // config["batch_size"]
        for name, value in config.items():
            out.setdefault(name, []).append(value if isinstance(value, str) else float(value))
    return out


def averages(printed: Mapping[Key, Value]) -> dict[Key, float]:
    """Return Tables 3 to 5 and the averages of Table 6, from the values of Tables 6 and 10 to 12 as printed.

    They are means and, except in Table 6, standard deviations (n - 1 degrees of freedom) over languages.
    """
    groups: dict[Key, list[float]] = {}
    for (table, task, _, architecture, name), value in printed.items():
        if table in (6, 10, 11, 12):
            target = (6, task, "avg") if table == 6 else (table - 7, task, "")
            groups.setdefault((*target, architecture, name), []).append(float(value))
    out: dict[Key, float] = {}
    for key, group in groups.items():
        out[key] = float(np.mean(group))
        if key[0] != 6:
            out[(*key[:4], key[4] + " sd")] = float(np.std(group, ddof=1))
    return out


def precision(published: str, quantity: str) -> float:
    """Return half a unit of the last digit of a rounded published number.

    Tables 8 and 9 drop trailing zeros: hyperparameters there have two digits after the point, and learning rates in
    scientific notation three significant ones. With half a unit, whole numbers agree only if equal.
    """
    if "e" in published:
        return 0.5 * 10.0 ** (int(published.partition("e")[2]) - 2)
    digits = -int(Decimal(published).as_tuple().exponent)
    if quantity in ("beta1", "beta2", "label_smoothing", "dropout", "factor"):
        digits = max(digits, 2)
    return 0.5 * 10.0**-digits


@dataclass(frozen=True)
class Entry:
    """A published value and our closest candidate; they agree if they are equal to the printed precision."""

    key: Key
    published: str
    ours: Value
    verdict: common.Verdict


def entry(key: Key, published: str, candidates: Sequence[Value]) -> Entry:
    """Return the entry of a published value with the closest of our candidates."""
    if isinstance(candidates[0], str):
        word = published if published in candidates else candidates[0]
        return Entry(key, published, word, "agrees" if word == published else "differs")
    target = float(published)
    ours = min(map(float, candidates), key=lambda v: abs(v - target))
    # Rounding of halves is not known: a value on the edge agrees.
    verdict = common.judge(ours - target, precision(published, key[4]) * (1 + 1e-9))
    return Entry(key, published, ours, verdict)


def entries(published: Mapping[Key, common.Published], computed: Mapping[Key, list[Value]]) -> list[Entry]:
    """Return an entry for each published value, in the order of the file; ours are the results of `values`.

    A row of Tables 8 and 9 is one configuration: the tied best run that agrees in most values of both is used.
    """
    best: dict[Sweep3, dict[str, list[Value]]] = {}
    printed: dict[Key, Value] = {}
    for key, candidates in computed.items():
        if key[0] in (8, 9):
            best.setdefault(key[1:4], {})[key[4]] = candidates
        else:
            e = entry(key, published[key].text, candidates)
            # What we would have printed: the published digits where we agree.
            printed[key] = published[key].value if e.verdict == "agrees" else round(float(e.ours), 2)
    whole: dict[Key, Sequence[Value]] = {**computed, **{key: [value] for key, value in averages(printed).items()}}
    chosen = printed_runs(best)
    return [
        entry(key, p.text, [whole[key][chosen[key[1:4]]]] if key[0] in (8, 9) else whole[key])
        for key, p in published.items()
    ]


def printed_runs(configs: Mapping[Sweep3, Mapping[str, Sequence[Value]]]) -> dict[Sweep3, int]:
    """Return the index of the tied best run in Tables 8 and 9 for each sweep: the one that agrees in most values.

    `configs` are the `best_configs` of each (task, language, architecture).
    """
    agree: dict[Sweep3, Any] = {}
    for key, published in expected().items():
        if key[0] in (8, 9) and key[1:4] in configs:
            candidates = configs[key[1:4]][key[4]]
            hits = np.array([entry(key, published.text, [v]).verdict == "agrees" for v in candidates], dtype=int)
            agree[key[1:4]] = agree.get(key[1:4], 0) + hits
    return {sweep: int(hits.argmax()) for sweep, hits in agree.items()}
