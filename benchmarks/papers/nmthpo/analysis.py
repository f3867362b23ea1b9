"""Tables 3 and 4 with a verdict on each number, and the claims of section 6: pure functions of scores."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from hpo_envs.benchmarks.papers import common

ENOUGH = 10
"""Number of trials from which on our standard deviation is used; with fewer, the published one."""

Key = tuple[int, str, str, str]
"""Table, pair, method, and score or other quantity."""


@dataclass(frozen=True)
class Entry:
    """A number of Table 3 or 4, ours and the published one."""

    table: int
    pair: str
    method: str  # row of the table
    score: str  # column of the table
    mean: float  # ours
    std: float  # population standard deviation over our trials
    trials: int  # number of our trials
    published: common.Published | None  # mean, with `std` in its details; None if the paper's text lacks the cell

    @property
    def z(self) -> float | None:
        """Difference (ours minus published) in standard errors, beyond half a unit of the last printed digit.

        The combined standard error is sqrt(published_std^2 / 100 + std^2 / trials), where `std` is the published one
        below `ENOUGH` trials. None if nothing is published.
        """
        if self.published is None:
            return None
        difference = self.mean - self.published.value
        beyond = max(abs(difference) - 0.5 * 10.0**-self.published.decimals, 0.0)
        if beyond == 0.0:
            return 0.0
        theirs = float(self.published.details["std"])
        ours = self.std if self.trials >= ENOUGH else theirs
        error = np.sqrt(theirs**2 / 100 + ours**2 / self.trials)  # section 4.3: 100 trials
        return float(np.copysign(beyond / error if error > 0 else np.inf, difference))

    @property
    def verdict(self) -> common.Verdict:
        """`agrees` within two standard errors, else `differs`; `not at hand` if the paper's text lacks the cell."""
        return "not at hand" if self.z is None else common.judge(self.z, 2.0)


def expected() -> dict[Key, common.Published]:
    """Return the published entries of Tables 1 and 2 (without a method), and the means of Tables 3 and 4.

    The `std` in the details of a mean is its standard deviation, as text.
    """
    return {(int(t), pair, method, score): p for (t, pair, method, score), p in common.expected("nmthpo").items()}


def entries(values: Mapping[Key, Sequence[float]]) -> list[Entry]:
    """Return an entry for each of `values`, the scores of all trials."""
    published = expected()
    return [Entry(*k, float(np.mean(v)), float(np.std(v)), len(v), published.get(k)) for k, v in values.items()]


def claims(entries: Sequence[Entry], rows: Mapping[str, int]) -> list[common.Record]:
    """Return the qualitative claims of sections 6.1.2 (Table 3) and 6.2.2 (Table 4) about the tables in `entries`.

    `rows` are numbers of configurations by pair. A record has the `claim`, the `verdict` of our numbers (`holds` or
    `fails`), and these numbers (`evidence`).
    """
    mean = {(e.table, e.pair, e.method, e.score): e.mean for e in entries}
    tables = {e.table for e in entries}
    found = _claims_of_table_3(mean, rows) if 3 in tables else []
    found += _claims_of_table_4(mean, list(rows)) if 4 in tables else []
    return [{"claim": t, "verdict": "holds" if holds else "fails", "evidence": why} for t, holds, why in found]


def _claims_of_table_3(mean: Mapping[Key, float], rows: Mapping[str, int]) -> list[tuple[str, bool, str]]:
    graph, gaussian = ("GB_EI_M", "GB_EI_R", "GB_EIF_M", "GB_EIF_R"), ("BO_EI_M", "BO_EI_R")
    shares = {p: mean[3, p, "RS", "ftb"] / n for p, n in rows.items()}
    share = mean[3, "swen", "BO_EI_M", "ftb"] / mean[3, "swen", "RS", "ftb"]
    best = {p: [min(mean[3, p, m, "ftb"] for m in group) for group in (graph, gaussian)] for p in rows}
    wins = sum(g < b for g, b in best.values())
    each = itertools.product(rows, "MR", ("ftb", "ftc", "fb"))
    eif = [mean[3, p, f"GB_EIF_{k}", s] < mean[3, p, f"GB_EI_{k}", s] for p, k, s in each]
    saved = mean[3, "enja", "BO_EI_M", "ftb"] - mean[3, "enja", "GB_EI_M", "ftb"]
    ratios = ", ".join(f"{p} {g:.0f} against {b:.0f}" for p, (g, b) in best.items())
    return [
        (
            "RS explores roughly half of all models to get the best one (ftb)",
            all(0.4 < s < 0.6 for s in shares.values()),
            ", ".join(f"{p} {s:.2f} of the table" for p, s in shares.items()),
        ),
        ("on sw-en BO_EI_M takes 10 % of the runtime of RS (ftb)", share < 0.125, f"{100 * share:.0f} %"),
        ("for ftb the best GB beats the best BO on four of six", wins >= 4, f"{wins} of {len(best)}: {ratios}"),
        ("GB_EIF often works better than GB_EI", sum(eif) > len(eif) / 2, f"{sum(eif)} of {len(eif)} cells"),
        ("on en-ja GB_EI_M reduces the ftb of BO_EI_M by 38", saved > 25, f"by {saved:.0f}"),
    ]


def _claims_of_table_4(mean: Mapping[Key, float], pairs: Sequence[str]) -> list[tuple[str, bool, str]]:
    share = mean[4, "swen", "BO_M", "fta"] / mean[4, "swen", "RS", "fta"]
    more = mean[4, "swen", "BO_M", "fbp"] - mean[4, "swen", "RS", "fbp"]
    rs_last = {p: mean[4, p, "RS", "fbp"] < min(mean[4, p, m, "fbp"] for m in ("BO_M", "BO_R")) for p in pairs}
    bo = {
        p: max(mean[4, p, m, "fbp"] for m in ("BO_M", "BO_R")) > max(mean[4, p, m, "fbp"] for m in ("GB_M", "GB_R"))
        for p in ("swen", "soen")
    }
    return [
        ("on sw-en BO_M needs less than half of the fta of RS", share < 0.5, f"{100 * share:.0f} %"),
        (
            "on sw-en BO_M finds far more Pareto points than RS in 200 (published: 8.6 more)",
            more > 6.0,
            f"{more:.1f} more",
        ),
        ("with a fixed budget RS finds fewer Pareto points than BO", all(rs_last.values()), str(rs_last)),
        ("on sw-en and so-en BO noticeably outperforms GB (fbp)", all(bo.values()), str(bo)),
    ]
