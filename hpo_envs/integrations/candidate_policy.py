"""Policy that scores candidates with shared weights, for `MaskablePPO` of sb3-contrib (extra `rl`).

envs = SB3VecEnv(for_training(tasks.make_vec(64, without=("ron", "kat"))))
model = MaskablePPO(CandidatePolicy, envs, n_steps=20, gamma=0.95)
"""

from pathlib import Path
from typing import Any

import numpy as np
from gymnasium import spaces

from hpo_envs.agents.models.candidate_set import JOINED
from hpo_envs.agents.transfer import policy_file
from hpo_envs.agents.transfer.scoring_network import ScoringNetwork
from hpo_envs.families.registry import held_out_of
from hpo_envs.wrappers.candidates import ObservedCandidates

try:
    import torch
    from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
    from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
    from torch import nn
except ModuleNotFoundError:
    raise ModuleNotFoundError('CandidatePolicy needs sb3-contrib: pip install "hpo_envs[rl]"') from None


class CandidateNetwork(BaseFeaturesExtractor):
    """Features extractor that applies a `ScoringNetwork`.

    Args:
        observation_space: Observation space of `wrappers.CandidateObservation`.
        hidden: See `ScoringNetwork`.
        skip: See `ScoringNetwork`.
    """

    def __init__(self, observation_space: spaces.Dict, hidden: int = 16, skip: float = 0.0) -> None:
        shapes = {name: space.shape or () for name, space in observation_space.items()}
        n, columns = shapes["candidates"][0], sum(shapes.get(name, (0, 0))[1] for name in JOINED)
        super().__init__(observation_space, n + hidden)
        self.network = ScoringNetwork(columns, hidden, skip)

    def forward(self, observation: dict[str, torch.Tensor]) -> torch.Tensor:
        """Return (batch, n + hidden): the scores of n candidates, then the state of each episode."""
        x = torch.cat([observation[name] for name in JOINED if name in observation], dim=2)
        return torch.cat(self.network(x, observation["mask"] > 0.5, observation["context"]), dim=1)


class _Parts(nn.Module):
    """Module that splits the output of `CandidateNetwork` into scores and states."""

    def __init__(self, n: int, hidden: int) -> None:
        super().__init__()
        self.n, self.latent_dim_pi, self.latent_dim_vf = n, n, hidden

    def forward(self, features: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return self.forward_actor(features), self.forward_critic(features)

    def forward_actor(self, features: torch.Tensor) -> torch.Tensor:
        return features[:, : self.n]

    def forward_critic(self, features: torch.Tensor) -> torch.Tensor:
        return features[:, self.n :]


class CandidatePolicy(MaskableActorCriticPolicy):
    """Policy that scores each candidate with the same weights, so that a permutation of candidates permutes scores.

    Args:
        observation_space: Observation space of `wrappers.CandidateObservation`.
        action_space: `Discrete`, one action for each candidate.
        lr_schedule: Learning-rate schedule of the learner.
        hidden: See `ScoringNetwork`.
        skip: See `ScoringNetwork`.
        **more: Other arguments of `MaskableActorCriticPolicy`, such as `optimizer_class`; `net_arch`, `ortho_init` and
            the features extractor are fixed.
    """

    def __init__(
        self, observation_space: spaces.Dict, action_space: spaces.Discrete, lr_schedule: Any, hidden: int = 16,
        skip: float = 0.0, **more: Any,
    ) -> None:  # fmt: skip
        self.hidden = hidden
        more |= {"features_extractor_class": CandidateNetwork, "ortho_init": False, "net_arch": []}
        more["features_extractor_kwargs"] = {"hidden": hidden, "skip": skip}
        super().__init__(observation_space, action_space, lr_schedule, **more)

    def _build_mlp_extractor(self) -> None:
        self.mlp_extractor = _Parts(int(self.action_space.n), self.hidden)

    def _build(self, lr_schedule: Any) -> None:
        super()._build(lr_schedule)
        self.action_net = nn.Identity()
        self.optimizer = self.optimizer_class(self.parameters(), lr=lr_schedule(1), **self.optimizer_kwargs)

    def weights(self) -> dict[str, np.ndarray]:
        """Return the arrays of the network by name, see `candidate_net.shapes`."""
        return dict(self.features_extractor.network.arrays())


def save_policy(model: Any, file: Path | str, env: Any = None) -> Path:
    """Write the weights of a `CandidatePolicy` as float16, its inputs and the languages of its training tables.

    Args:
        model: Model of sb3-contrib with a `CandidatePolicy`.
        file: File to write; `.npz` is added to a name without a suffix.
        env: An environment like that of the training, wrapped in `CandidateObservation`, or a list of all of them;
            default: those of the model.

    Returns:
        Path of the file, for `hpo-envs compare --agents policy:FILE`.

    Raises:
        ValueError: The model has another policy, or an environment lacks `CandidateObservation` or has other
            observations.
    """
    if not isinstance(model.policy, CandidatePolicy):
        raise ValueError(f"model must have a CandidatePolicy, got {type(model.policy).__name__}")
    env = model.get_env() if env is None else env
    found = getattr(env, "envs", env)
    trained, inputs = list[tuple[tuple[str, ...], tuple[str, ...]]](), list[ObservedCandidates]()
    for inner in found if isinstance(found, list) else [found]:
        base = inner.unwrapped
        while not isinstance(shown := getattr(inner, "rule", None), ObservedCandidates):
            if inner is base:
                raise ValueError(f"env must be wrapped in CandidateObservation, got {env}")
            inner = inner.env
        inputs.append(shown)
        if hasattr(base, "pools"):
            trained += [(p.held_out, p.feature_names) for p in base.pools]
        else:
            trained.append((held_out_of(t.name for t in base.tables), base.tables[0].feature_names))
    first, names = inputs[0], {names for _, names in trained}
    own = model.observation_space, first.features, first.numbers
    changed = getattr(model.get_env(), "norm_obs", False)  # `VecNormalize` leaves the space as it is
    if changed or any((i.observation_space, i.features, i.numbers) != own for i in inputs):
        rule = "the model's observations, with the same features and numbers everywhere, and not normalised"
        raise ValueError(f"env must show {rule}, got {model.get_env() if changed else env}")
    weights = policy_file.PolicyWeights(
        "policy", frozenset(x for held_out, _ in trained for x in held_out), first.features, first.size,
        model.policy.hidden, (model.policy.weights(),), names.pop() if len(names) == 1 else (), first.numbers,
    )  # fmt: skip
    return policy_file.write(file, [weights])
