"""Policies of any library as agents."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hpo_envs.agents.models import candidate_net, candidate_set
from hpo_envs.agents.models.candidate_set import joined
from hpo_envs.agents.transfer import policy_file
from hpo_envs.benchmarks import run
from hpo_envs.integrations.deployed import Deployed

FEATURES, SIZE = ("observed", "posterior"), 120
ENV = {"env_id": "NMTHPO-zhen-v0", "seeds": [3, 4], "budget": 6}


@pytest.fixture(scope="module")
def weights() -> candidate_net.NetArrays:
    rng, shapes = np.random.default_rng(0), candidate_net.shapes(candidate_set.columns(FEATURES), 4)
    return {k: rng.standard_normal(s).astype(np.float16).astype(np.float32) for k, s in shapes.items()}


def callable_of(weights: candidate_net.NetArrays) -> Callable[[Any], Any]:
    def policy(seen: Any) -> Any:
        return candidate_net.scores(weights, joined(seen)[0], seen["mask"][0] > 0.5, seen["context"][0])

    return policy


def actions(agent: Any, **given: Any) -> list[list[int]]:
    return [r.actions.tolist() for r in run(agent, **ENV, **given)]


def test_one_policy_acts_alike_as_weights_callable_torchscript_and_onnx(
    weights: candidate_net.NetArrays, tmp_path: Path
) -> None:
    given = {"features": FEATURES, "candidates": SIZE}
    file = policy_file.write(
        tmp_path / "p", [policy_file.PolicyWeights("p", frozenset(), FEATURES, SIZE, 4, (weights,))]
    )
    expected = actions("hpo_envs.agents.transfer.policy:Policy", file=str(file), deterministic=True)
    assert actions(Deployed, policy=callable_of(weights), **given) == expected
    torch = pytest.importorskip("torch")
    network = torch_form(weights)
    torch.jit.script(network).save(str(tmp_path / "p.pt"))
    assert actions(Deployed, policy=str(tmp_path / "p.pt"), **given) == expected
    pytest.importorskip("onnxruntime")
    onnx = pytest.importorskip("onnx")
    onnx.save(linear_onnx(onnx), tmp_path / "p.onnx")
    last = actions(Deployed, policy=lambda seen: seen["candidates"][0, :, -1], **given)
    assert actions(Deployed, policy=str(tmp_path / "p.onnx"), **given) == last != expected


def test_a_file_that_was_written_again_is_another_policy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    torch, file = pytest.importorskip("torch"), tmp_path / "p.pt"
    found, headers = [], []
    for policy in (lambda seen: seen["candidates"][0, :, -1], lambda seen: -seen["candidates"][0, :, -1]):
        example = {"candidates": torch.zeros(1, 8, 1)}
        torch.jit.trace(policy, (example,)).save(str(file))
        given = {"policy": str(file), "features": FEATURES, "candidates": SIZE}
        runs = run(Deployed, **ENV, **given)
        found.append([r.actions.tolist() for r in runs])
        headers.append(runs[0].header["agent_source"])
        assert found[-1] == actions(Deployed, **given | {"policy": lambda seen, f=policy: f(seen)})
    assert found[0] != found[1]
    assert headers[0].keys() == headers[1].keys() == {"p.pt"}
    assert headers[0] != headers[1]
    monkeypatch.chdir(tmp_path)  # an isolated process has another folder
    there = run("hpo_envs.integrations.deployed:Deployed", **ENV, policy="p.pt", features=[*FEATURES], candidates=SIZE,
                isolate=True)  # fmt: skip
    assert [r.actions.tolist() for r in there] == found[1]
    assert there[0].header["hyperparameters"]["policy"] == "p.pt"


def torch_form(weights: candidate_net.NetArrays) -> Any:
    import torch

    from hpo_envs.agents.transfer.scoring_network import ScoringNetwork

    with pytest.raises(ValueError, match="hidden must be an int >= 1, got 0"):
        ScoringNetwork(5, 0)

    class OfObservations(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.network = ScoringNetwork(candidate_set.columns(FEATURES), 4)
            self.network.load_state_dict({name: torch.as_tensor(w) for name, w in weights.items()})

        def forward(self, seen: dict[str, torch.Tensor]) -> torch.Tensor:
            return self.network(seen["candidates"], seen["mask"] > 0.5, seen["context"])[0]

    return OfObservations()


def linear_onnx(onnx: Any) -> Any:
    """An ONNX model whose scores are the last column of the candidates."""
    helper, kind, columns = onnx.helper, onnx.TensorProto.FLOAT, candidate_set.columns(FEATURES)
    last = onnx.numpy_helper.from_array(np.eye(columns, dtype=np.float32)[:, -1:], "last")
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["candidates", "last"], ["scores"])],
        "linear",
        [helper.make_tensor_value_info("candidates", kind, [1, SIZE, columns])],
        [helper.make_tensor_value_info("scores", kind, [1, SIZE, 1])],
        [last],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


def test_indices_and_small_sets_act_as_in_training() -> None:
    (one,) = run(Deployed, "NMTHPO-zhen-v0", [0], budget=9, policy=lambda seen: np.array([seen["mask"].argmax()]),
                 features=("observed", "history"), candidates=5)  # fmt: skip
    assert len({*one.actions.tolist()}) == 9  # five of the set, then others at random


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        (lambda seen: np.zeros(7), "policy must return an index or 120 finite scores, got"),
        (lambda seen: np.full(SIZE, np.nan), "policy must return an index or 120 finite scores, got"),
        (lambda seen: SIZE, "policy must return an index or 120 finite scores, got"),
        (lambda seen: 2.5, "policy must return an index or 120 finite scores, got"),
        (lambda seen: seen["stacked"], r"policy must take observations candidates \(1, 120, 14\).*KeyError 'stacked'"),
        ("policy.npz", "policy must be a callable or a file .pt or .onnx"),
        ("policy.pt", "policy must be a file of pt"),
        ("policy.onnx", "policy must be a file of onnx"),
    ],
)
def test_other_policies_end_in_one_line(policy: Any, message: str, tmp_path: Path) -> None:
    if isinstance(policy, str):
        for package in {".pt": ("torch",), ".onnx": ("onnxruntime",)}.get(Path(policy).suffix, ()):
            pytest.importorskip(package)
        (tmp_path / policy).write_bytes(b"")
        policy = str(tmp_path / policy)
    with pytest.raises(ValueError, match=message) as raised:
        actions(Deployed, policy=policy, features=FEATURES, candidates=SIZE)
    assert "\n" not in str(raised.value)


def test_sets_of_no_or_too_many_candidates_are_refused() -> None:
    for size, message in ((0, "an int >= 1, got 0"), (10**7, "at most 100000, got 10000000")):
        with pytest.raises(ValueError, match=f"candidates must be {message}"):
            actions(Deployed, policy=lambda seen: 0, candidates=size)
