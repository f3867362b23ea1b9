"""A policy for `MaskablePPO` of sb3-contrib that scores candidates with shared weights (extra `rl`).

envs = SB3VecEnv(for_training(tasks.make_vec(64, without=("ron", "kat"))))
model = MaskablePPO(CandidatePolicy, envs, n_steps=20, gamma=0.95)
"""

from pathlib import Path
from typing import Any

import numpy as np
from gymnasium import spaces

from hpo_envs.agents.models import candidate_net
from hpo_envs.agents.models.candidate_set import JOINED
from hpo_envs.agents.transfer import policy_file
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
    """`candidate_net.scores` in PyTorch: (batch, n + hidden), scores of the candidates and the state of the episode.

    Args:
        observation_space: Of `wrappers.CandidateObservation`.
        hidden: Units of each layer.
        skip: Weight of the last column in every score before training: a multiple of log expected improvement, where
            the last group of features is a Gaussian process.
    """

    def __init__(self, observation_space: spaces.Dict, hidden: int = 16, skip: float = 0.0) -> None:
        shapes = {name: space.shape or () for name, space in observation_space.items()}
        n, columns = shapes["candidates"][0], sum(shapes.get(name, (0, 0))[1] for name in JOINED)
        super().__init__(observation_space, n + hidden)
        layers = candidate_net.shapes(columns, hidden)
        for name in dict.fromkeys(key.partition(".")[0] for key in layers):
            out, into = layers[f"{name}.weight"]
            setattr(self, name, nn.Linear(into, out, bias=f"{name}.bias" in layers))
        for zero in (self.score, self.skip):  # without `skip` the policy starts uniform
            nn.init.zeros_(zero.weight)
        nn.init.constant_(self.skip.weight[:, -1:], skip)

    def forward(self, observation: dict[str, torch.Tensor]) -> torch.Tensor:
        """Scores and state."""
        shown = [observation[name] for name in JOINED if name in observation]
        x, context = torch.cat(shown, dim=2), observation["context"]
        columns = x.shape[2]
        weight, bias = self.inner.weight, self.inner.bias
        base = context @ weight[:, columns:].T + bias
        code = torch.relu(self.outer(torch.relu(x @ weight[:, :columns].T + base[:, None])))
        seen = x[:, :, 0] > 0.5
        every = (observation["mask"] > 0.5) | seen
        present = torch.stack([every, every, seen], dim=1)
        logits = self.pool(code).transpose(1, 2).masked_fill(~present, -1e9)
        pooled = (torch.softmax(logits, dim=2) @ code) * present.any(dim=2, keepdim=True)
        state = torch.relu(self.state(pooled.flatten(1)))
        each = torch.relu(self.head(code) + state[:, None])
        scores = self.score(each)[..., 0] + self.skip(x)[..., 0]
        return torch.cat([scores, state], dim=1)


class _Parts(nn.Module):
    """Divides what the network returns into scores and state."""

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
    """Scores every candidate with the same weights: equivariant to permutations, for any number of candidates.

    Args:
        observation_space: Of `wrappers.CandidateObservation`.
        action_space: `Discrete`, a candidate each.
        lr_schedule: Of the learner.
        hidden: Units of each layer.
        skip: See `CandidateNetwork`.
        **more: Other arguments of `MaskableActorCriticPolicy`, such as `optimizer_class`.
    """

    def __init__(
        self,
        observation_space: spaces.Dict,
        action_space: spaces.Discrete,
        lr_schedule: Any,
        hidden: int = 16,
        skip: float = 0.0,
        **more: Any,
    ) -> None:
        self.hidden = hidden
        more |= {
            "features_extractor_class": CandidateNetwork,
            "features_extractor_kwargs": {"hidden": hidden, "skip": skip},
        }
        super().__init__(observation_space, action_space, lr_schedule, net_arch=[], **more | {"ortho_init": False})

    def _build_mlp_extractor(self) -> None:
        self.mlp_extractor = _Parts(int(self.action_space.n), self.hidden)

    def _build(self, lr_schedule: Any) -> None:
        super()._build(lr_schedule)
        self.action_net = nn.Identity()
        self.optimizer = self.optimizer_class(self.parameters(), lr=lr_schedule(1), **self.optimizer_kwargs)

    def weights(self) -> dict[str, np.ndarray]:
        """Arrays of `candidate_net.shapes`."""
        return {name: p.detach().cpu().numpy() for name, p in self.features_extractor.named_parameters()}


def save_policy(model: Any, file: Path | str, env: Any = None) -> Path:
    """Write the weights of a `CandidatePolicy`, its inputs and the languages of its training tables.

    Args:
        model: Of sb3-contrib, with a `CandidatePolicy`.
        file: Where to; `.npz` is added where it has no suffix.
        env: An environment like the one that the model was trained on, in `CandidateObservation`; default: the model's.

    Returns:
        The file, for `hpo-envs compare --agents policy:FILE`.

    Raises:
        ValueError: Another policy, or an environment without `CandidateObservation`.
    """
    if not isinstance(model.policy, CandidatePolicy):
        raise ValueError(f"model must have a CandidatePolicy, got {type(model.policy).__name__}")
    env = model.get_env() if env is None else env
    inner = getattr(env, "envs", env)
    inner = inner[0] if isinstance(inner, list) else inner
    base = inner.unwrapped
    while not isinstance(shown := getattr(inner, "rule", None), ObservedCandidates):
        if inner is base:
            raise ValueError(f"env must be wrapped in CandidateObservation, got {env}")
        inner = inner.env
    pools = getattr(base, "pools", None)
    if pools is None:
        languages, names = {*held_out_of([t.name for t in base.tables])}, {base.tables[0].feature_names}
    else:
        languages, names = {x for p in pools for x in p.held_out}, {p.feature_names for p in pools}
    trained = policy_file.PolicyWeights(
        "policy",
        frozenset(languages),
        shown.features,
        shown.size,
        model.policy.hidden,
        (model.policy.weights(),),
        names.pop() if len(names) == 1 else (),
        shown.numbers,
    )
    return policy_file.write(file, [trained])
