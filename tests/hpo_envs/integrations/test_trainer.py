"""Hugging Face's Trainer: a randomly initialised model on text made here, tuned by evaluations (nightly)."""

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import hpo_envs
from hpo_envs.integrations.trainer import Trained

transformers = pytest.importorskip("transformers")
datasets = pytest.importorskip("datasets")

SPACE = {"learning_rate": (1e-4, 1e-1, "log"), "hidden_size": [8, 16], "weight_decay": (1e-6, 1e-1, "log")}


@functools.cache
def data(split: str) -> Any:
    """Sequences of 8 tokens; the class is whether the first token occurs again."""
    rows = [[(7 * i + 3 * j * (i % 3 + 1)) % 19 + 1 for j in range(8)] for i in range(48)]
    part = rows[:32] if split == "train" else rows[32:]
    return datasets.Dataset.from_list([{"input_ids": r, "labels": int(r[0] in r[1:])} for r in part])


def model(config: Mapping[str, Any]) -> Any:
    transformers.set_seed(0)
    size = config["hidden_size"]
    shape = {"hidden_size": size, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 2 * size}
    known = transformers.BertConfig(vocab_size=20, max_position_embeddings=8, num_labels=2, **shape)
    return transformers.BertForSequenceClassification(known)


def make(config: Mapping[str, Any], folder: str) -> Any:
    """A Trainer of three epochs."""
    arguments = transformers.TrainingArguments(
        folder, num_train_epochs=3, eval_strategy="epoch", save_strategy="no", logging_strategy="no", seed=0,
        per_device_train_batch_size=8, learning_rate=config["learning_rate"], weight_decay=config["weight_decay"],
        use_cpu=True, disable_tqdm=True, report_to=[],
    )  # fmt: skip
    return transformers.Trainer(model(config), arguments, train_dataset=data("train"), eval_dataset=data("test"))


CONFIG = {"learning_rate": 3e-3, "hidden_size": 8, "weight_decay": 0.01}


def test_trainer_pauses_at_evaluation_and_continues_to_same_loss(tmp_path: Path) -> None:
    whole = Trained(make)(CONFIG, tmp_path / "whole", 3)
    paused = [Trained(make)(CONFIG, tmp_path / "parts", epochs) for epochs in (1, 2, 3)]
    assert [p["epoch"] for p in paused] == [1.0, 2.0, 3.0]
    assert paused[-1]["eval_loss"] == pytest.approx(whole["eval_loss"], rel=1e-6)
    assert len({p["eval_loss"] for p in paused}) == 3
    again = Trained(make)(CONFIG, tmp_path / "parts", 3)  # a checkpoint that has it all: nothing is trained
    assert again == paused[-1]
    (tmp_path / "parts" / "checkpoint-999").mkdir()  # what a kill leaves: no state in it
    assert Trained(make)(CONFIG, tmp_path / "parts", 3) == again


def test_search_stops_some_trainers_early_and_goes_on(tmp_path: Path) -> None:
    given: dict[str, Any] = {"epochs": 3, "objective": "eval_loss", "goal": "min", "out": tmp_path, "progress": False}
    tune = functools.partial(hpo_envs.tune, Trained(make), SPACE, candidates=20, **given)
    first = tune(budget=6)
    tuned = tune(budget=9)
    assert tuned.evaluations[: len(first)] == first.evaluations
    assert tuned.header["function"].endswith("test_trainer:make")
    assert {e.status for e in tuned} == {"ok"}
    reached = {e.action[0]: e.action[1] for e in tuned}
    assert min(reached.values()) < 2  # stopped before its last epoch
    assert tuned.best.metrics["eval_loss"] == min(e.metrics["eval_loss"] for e in tuned)


def test_trainers_that_write_elsewhere_or_evaluate_less_are_rejected(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="output_dir must be the folder that make is given, got "):
        Trained(lambda config, folder: make(config, str(tmp_path / "other")))(CONFIG, tmp_path, 1)
    with pytest.raises(ValueError, match=r"the Trainer must evaluate 4 times \(eval_strategy=\), got 3"):
        Trained(make)(CONFIG, tmp_path, 4)


def test_hyperparameter_search_asks_our_agents(tmp_path: Path) -> None:
    """Its backends are a fixed list; Optuna's accepts a sampler."""
    pytest.importorskip("optuna")
    from hpo_envs.integrations.optuna.sampler import AgentSampler

    trainer = make(CONFIG, str(tmp_path))
    trainer.model_init = lambda trial=None: model(CONFIG)
    best = trainer.hyperparameter_search(
        hp_space=lambda trial: {"learning_rate": trial.suggest_float("learning_rate", 1e-4, 1e-1, log=True)},
        backend="optuna", direction="minimize", n_trials=3, sampler=AgentSampler("box-bo", seed=0),
    )  # fmt: skip
    assert 1e-4 <= best.hyperparameters["learning_rate"] <= 1e-1
