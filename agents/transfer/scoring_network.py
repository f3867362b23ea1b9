"""The policy network in PyTorch, for training, with the weights of `candidate_net` (extra `rl` or `live`)."""

from hpo_envs.agents.base import whole
from hpo_envs.agents.models import candidate_net

try:
    import torch
    from torch import nn
except ModuleNotFoundError:
    raise ModuleNotFoundError('ScoringNetwork needs PyTorch: pip install "hpo_envs[rl]"') from None


class ScoringNetwork(nn.Module):  # type: ignore[misc,unused-ignore]
    """A network that scores candidates; its parameters have the names and shapes of `candidate_net.shapes`.

    Args:
        columns: Number of columns of a candidate.
        hidden: Units of each layer, at least 1.
        skip: Weight of the last column in every score before training; this column is log expected improvement if the
            last group of features is that of a Gaussian process and `hyperparameters` is none of the groups. With 0,
            the policy starts uniform.

    Raises:
        ValueError: `hidden` is not an int >= 1.
    """

    def __init__(self, columns: int, hidden: int, skip: float = 0.0) -> None:
        super().__init__()
        layers = candidate_net.shapes(columns, whole("hidden", hidden, 1))
        for name in dict.fromkeys(key.partition(".")[0] for key in layers):
            out, into = layers[f"{name}.weight"]
            setattr(self, name, nn.Linear(into, out, bias=f"{name}.bias" in layers))
        for zero in (self.score, self.skip):
            nn.init.zeros_(zero.weight)
        nn.init.constant_(self.skip.weight[:, -1:], skip)

    def forward(self, x: torch.Tensor, mask: torch.Tensor, context: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the (batch, n) scores of the candidates and the (batch, hidden) states of the episodes.

        Args:
            x: (batch, n, columns) candidates; column 0 is 1 for evaluated ones, else 0.
            mask: (batch, n) bool, True for candidates that were not evaluated, False for padding, too.
            context: (batch, CONTEXT) numbers that describe the episodes.
        """
        columns = x.shape[2]
        weight, bias = self.inner.weight, self.inner.bias
        base = context @ weight[:, columns:].T + bias
        code = torch.relu(self.outer(torch.relu(x @ weight[:, :columns].T + base[:, None])))
        seen = x[:, :, 0] > 0.5
        every = mask | seen
        present = torch.stack([every, every, seen], dim=1)
        logits = self.pool(code).transpose(1, 2).masked_fill(~present, -1e9)
        pooled = (torch.softmax(logits, dim=2) @ code) * present.any(dim=2, keepdim=True)
        state = torch.relu(self.state(pooled.flatten(1)))
        each = torch.relu(self.head(code) + state[:, None])
        return self.score(each)[..., 0] + self.skip(x)[..., 0], state

    def arrays(self) -> candidate_net.NetArrays:
        """Return the parameters by name as NumPy arrays, see `candidate_net.shapes`."""
        return {name: p.detach().cpu().numpy() for name, p in self.named_parameters()}
