"""Callbacks of trainers, with the real packages: each epoch is reported, and stopped trainings end."""

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from hpo_envs.integrations import callbacks
from hpo_envs.tuning import tune
from hpo_envs.tuning.trial import Trial, checks

X, Y = load_breast_cancer(return_X_y=True)
X = (X - X.mean(axis=0)) / X.std(axis=0)
TRAIN, TEST = (X[:300], Y[:300]), (X[300:], Y[300:])


def boosted(config: dict[str, Any], trial: Trial) -> None:
    xgboost = pytest.importorskip("xgboost")
    given = {"n_estimators": 9, "max_depth": 2, "eval_metric": "auc", "learning_rate": config["rate"], "n_jobs": 1}
    model = xgboost.XGBClassifier(**given, callbacks=[callbacks.xgboost_callback(trial, "validation_0-auc")])
    model.fit(*TRAIN, eval_set=[TEST], verbose=False)


def cross_validated(config: dict[str, Any], trial: Trial) -> None:
    xgboost = pytest.importorskip("xgboost")
    given = {"objective": "binary:logistic", "max_depth": 2, "eval_metric": "auc", "eta": config["rate"], "nthread": 1}
    reports = [callbacks.xgboost_callback(trial, "test-auc")]
    xgboost.cv(given, xgboost.DMatrix(*TRAIN), num_boost_round=9, nfold=3, seed=0, callbacks=reports)


def lightly_boosted(config: dict[str, Any], trial: Trial) -> None:
    lightgbm = pytest.importorskip("lightgbm")
    given = {"n_estimators": 9, "num_leaves": 4, "learning_rate": config["rate"], "n_jobs": 1, "verbose": -1}
    reports = [callbacks.lightgbm_callback(trial, "valid_0 auc")]
    lightgbm.LGBMClassifier(**given).fit(*TRAIN, eval_set=[TEST], eval_metric="auc", callbacks=reports)


def layered(config: dict[str, Any], trial: Trial, **given: Any) -> None:
    keras = pytest.importorskip("keras")
    keras.utils.set_random_seed(0)
    model = keras.Sequential([keras.layers.Input((30,)), keras.layers.Dense(1, activation="sigmoid")])
    model.compile(keras.optimizers.SGD(config["rate"]), "binary_crossentropy", metrics=["accuracy"])
    reports = [callbacks.keras_callback(trial, "val_accuracy")]
    model.fit(*TRAIN, epochs=9, validation_data=TEST, verbose=0, callbacks=reports, **given)


def lightning(config: dict[str, Any], trial: Trial) -> None:
    torch, pl = pytest.importorskip("torch"), pytest.importorskip("lightning.pytorch")

    class Model(pl.LightningModule):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            torch.manual_seed(0)
            self.layer = torch.nn.Linear(30, 2)

        def training_step(self, batch: Any, index: int) -> Any:
            return torch.nn.functional.cross_entropy(self.layer(batch[0]), batch[1])

        def validation_step(self, batch: Any, index: int) -> None:
            self.log("accuracy", (self.layer(batch[0]).argmax(1) == batch[1]).float().mean())

        def configure_optimizers(self) -> Any:
            return torch.optim.SGD(self.parameters(), config["rate"])

    sets = [torch.utils.data.TensorDataset(torch.tensor(x).float(), torch.tensor(y)) for x, y in (TRAIN, TEST)]
    quiet = {
        "logger": False,
        "enable_checkpointing": False,
        "enable_progress_bar": False,
        "enable_model_summary": False,
    }
    reports = [callbacks.lightning_callback(trial, "accuracy")]
    trainer = pl.Trainer(max_epochs=9, accelerator="cpu", callbacks=reports, **quiet)
    trainer.fit(Model(), *(torch.utils.data.DataLoader(s, 100) for s in sets))


@pytest.mark.parametrize(
    "train, package",
    [
        (boosted, "xgboost"),
        (cross_validated, "xgboost"),
        (lightly_boosted, "lightgbm"),
        (layered, "keras"),
        (lightning, "lightning"),
    ],
)
def test_epochs_are_reported_and_trainings_stopped(train: Any, package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KERAS_BACKEND", "torch")
    pytest.importorskip(package)
    rates = [0.3, 1e-3, 1e-4, 0.1, 1e-5, 0.5]
    given: dict[str, Any] = {"points": [{"rate": rate} for rate in rates], "budget": 6, "progress": False}
    tuned = tune(train, {"rate": (1e-6, 1.0, "log")}, **given)
    assert [e.error for e in tuned] == [""] * 6
    lengths = [len(e.curve) for e in tuned]
    assert lengths[0] == 9
    assert min(lengths) in checks(9)[:-1]
    for e in tuned:
        assert [step for step, _ in e.curve] == list(range(1, len(e.curve) + 1))
        assert e.reward == e.curve[-1][1] > 0.3
        assert e.status == "truncated" or len(e.curve) == 9


def test_keras_may_validate_in_some_epochs(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KERAS_BACKEND", "torch")
    trial = Trial(0, {}, tmp_path)
    layered({"rate": 0.1}, trial, validation_freq=2)
    assert [step for step, _ in trial.curve] == [2, 4, 6, 8]
    with pytest.raises(ValueError, match="monitor must be one of accuracy, loss, got 'val_accuracy'"):
        layered({"rate": 0.1}, Trial(1, {}, tmp_path), validation_freq=10)


def test_mistakes_are_named(tmp_path: Any) -> None:
    with pytest.raises(ValueError, match=r"trial must be that of a search, as in train\(config, trial\), got None"):
        callbacks._reporter(None, "auc")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="monitor must be one of loss, acc, got 'auc'"):
        callbacks._reporter(Trial(0, {}, tmp_path), "auc")({"loss": np.float32(1.0), "acc": 0.5}, 1)
