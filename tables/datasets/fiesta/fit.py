"""Fits the moments that the embedded FIESTA tables have: `python -m hpo_envs.tables.datasets.fiesta.fit`.

Reads the measured files and writes `fiesta.json`. Runs of the named entity recognisers that did not
converge (test F1 below .9) are left out.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from hpo_envs.tables import store
from hpo_envs.tables.datasets.fiesta import build

CONVERGED = 0.9
"""Test F1 that a converged recogniser passes; four of 1,500 runs do not."""


def fit() -> dict[str, Any]:
    """Means, deviations and correlations of the measured scores, rounded to 6 digits."""
    (tdsa_file,), (ner_file,) = build.files("fiesta/tdsa12"), build.files("fiesta/ner")
    x = build.tdsa_values(store.read(tdsa_file))
    tdsa = {"mean": x.mean(axis=1), "sd": x.std(axis=1), "correlation": np.corrcoef(x)}
    return {"tdsa": _rounded(tdsa), "ner": _rounded(_fit_ner(build.ner_values(store.read(ner_file))))}


def _fit_ner(values: np.ndarray) -> dict[str, np.ndarray]:
    """Mean, covariance of the splits' effects and covariance of the seeds' effects (method of moments)."""
    runs = values.reshape(2, build.NER_SPLITS, build.NER_SEEDS, 2)
    good = runs[..., :1] >= CONVERGED
    count = good.sum(axis=2)
    means = np.where(good, runs, 0.0).sum(axis=2) / count
    centred = np.where(good, runs - means[:, :, None], 0.0).reshape(2, -1, 2)
    freedom = (count - 1).sum(axis=(1, 2))
    within = np.stack([c.T @ c / f for c, f in zip(centred, freedom, strict=True)])
    flat = means.transpose(1, 0, 2).reshape(build.NER_SPLITS, 4)
    between = np.cov(flat.T, ddof=0)
    for i in range(2):
        block = slice(2 * i, 2 * i + 2)
        between[block, block] -= within[i] * (1.0 / count[i]).mean()
    return {"mean": flat.mean(axis=0).reshape(2, 2), "between": between, "within": within}


def _rounded(moments: dict[str, np.ndarray]) -> dict[str, Any]:
    # Covariances are of the order 1e-5: six significant digits instead of six decimals.
    return {k: np.vectorize(lambda v: float(f"{v:.6g}"))(v).tolist() for k, v in moments.items()}


def main() -> None:
    """Writes the file."""
    path = Path(__file__).with_name("fiesta.json")
    path.write_text(json.dumps(fit(), indent=1) + "\n", encoding="utf-8")
    print(f"wrote {path}")


if __name__ == "__main__":
    main()
