"""What a function does becomes an outcome, whatever it does."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hpo_envs.core.engines.function.calls import Training, call, check_signature, form_of, name_of, resolve


def train(config: Mapping[str, Any]) -> float:
    return float(config["x"])


def epochs(config: Mapping[str, Any]) -> Iterator[float]:
    for epoch in range(3):
        yield config["x"] + epoch


def checkpoints(config: Mapping[str, Any], resume_from: Path, epochs: int) -> dict[str, float]:
    file = resume_from / "done"
    done = int(file.read_text()) if file.exists() else 0
    file.write_text(str(epochs))
    return {"score": float(epochs), "new": epochs - done}


def test_forms_are_told_by_signature() -> None:
    assert [form_of(f) for f in (train, epochs, checkpoints, float)] == ["score", "epochs", "checkpoints", "score"]
    assert resolve(f"{__name__}:train") is train
    assert name_of(train) == "train"
    for wrong in ("math:nothing", "no_such_module:f", 3, "math"):
        with pytest.raises(ValueError, match="function must be"):
            resolve(wrong)


def test_function_that_takes_no_dict_is_rejected_before_it_is_called() -> None:
    for function in (train, epochs, checkpoints, float, lambda c, seed=0: 1.0):
        check_signature(function, form_of(function))
    for wrong in (lambda lr, layers: 1.0, lambda: 1.0, lambda *, config: 1.0):
        with pytest.raises(ValueError, match=r"function must take one dict .* train\(config\), got .*<lambda>\("):
            check_signature(wrong, "score")


@pytest.mark.parametrize(
    "returned, status, metrics",
    [
        (0.5, "ok", {"score": 0.5}),
        (np.float32(0.5), "ok", {"score": 0.5}),
        (True, "ok", {"score": 1.0}),
        ({"score": 1, "loss": 2.0, "name": "x", "cost": 7.0}, "ok", {"score": 1.0, "loss": 2.0}),
        ({"score": 1, "loss": float("inf")}, "ok", {"score": 1.0}),
        (float("nan"), "diverged", {}),
        ({"score": float("-inf"), "loss": 1.0}, "diverged", {"loss": 1.0}),
        ({"accuracy": 1.0}, "failed", {}),
        (None, "failed", {}),
        ("0.5", "failed", {}),
        ({"score": 1.0, "cost": -1.0}, "failed", {}),
    ],
)
def test_what_it_returns_is_read(returned: Any, status: str, metrics: dict[str, float]) -> None:
    outcome = call(lambda config: returned, {}, ("score",))
    assert (outcome.status, outcome.metrics) == (status, metrics)
    assert bool(outcome.error) == (status != "ok")
    assert outcome.price == (7.0 if isinstance(returned, dict) and returned.get("cost") == 7.0 else outcome.seconds)


def test_scalars_of_other_packages_are_numbers() -> None:
    torch = pytest.importorskip("torch")
    assert call(lambda config: torch.tensor(0.25), {}, ("score",)).metrics == {"score": 0.25}


def test_what_it_raises_is_kept() -> None:
    outcome = call(lambda config: 1 / config["x"], {"x": 0}, ("score",))
    assert outcome.status == "failed"
    assert "ZeroDivisionError" in outcome.error
    assert "Traceback" in outcome.error


def test_several_objectives_need_names() -> None:
    assert call(lambda config: {"a": 1, "b": 2}, {}, ("a", "b")).status == "ok"
    assert call(lambda config: 1.0, {}, ("a", "b")).error.startswith("function must return a mapping with a, b")


def test_function_may_change_its_configuration() -> None:
    given = {"x": 1.0}
    call(lambda config: config.pop("x"), given, ("score",))
    assert given == {"x": 1.0}


def test_generator_is_paused_and_gone_on_with() -> None:
    training = Training(epochs, {"x": 10.0}, ("score",))
    assert [(e, o.metrics["score"]) for e, o in training.until(1)] == [(1, 10.0)]
    assert training.until(1) == []
    assert [(e, o.metrics["score"]) for e, o in training.until(3)] == [(2, 11.0), (3, 12.0)]
    assert training.until(5) == []  # it ended early
    assert training.ended
    assert Training(epochs, {}, ("score",)).until(2)[0][1].status == "failed"


def test_checkpoints_are_found_again(tmp_path: Path) -> None:
    folder = tmp_path / "0"
    assert Training(checkpoints, {}, ("score",), folder).until(2)[0][1].metrics == {"score": 2.0, "new": 2.0}
    ((epoch, outcome),) = Training(checkpoints, {}, ("score",), folder).until(5)
    assert (epoch, outcome.metrics) == (5, {"score": 5.0, "new": 3.0})
