"""A plugin of hpo_envs: an agent, a table and a family, registered by the entry points of its package."""

import numpy as np
import pandas as pd
from sklearn import datasets, model_selection, neighbors

from hpo_envs import Agent, Family
from hpo_envs.core.engines.lookup.params import LookupParams
from hpo_envs.core.engines.lookup.scalar import LookupEnv
from hpo_envs.core.family import Spec
from hpo_envs.tables import user


class BestNeighbour(Agent):
    """Epsilon-greedy: the unevaluated neighbour of the incumbent, or a random configuration."""

    supports = ("rows",)

    def __init__(self, problem, seed, explore=0.5):
        super().__init__(problem, seed)
        self.explore, self.free, self.best = explore, np.ones(problem.rows, bool), None

    def ask(self):
        free = np.flatnonzero(self.free if self.free.any() else np.ones_like(self.free))
        if self.best is None or self.rng.random() < self.explore:
            return int(self.rng.choice(free))
        distance = ((self.problem.features[free] - self.problem.features[self.best[1]]) ** 2).sum(axis=1)
        return int(free[distance.argmin()])

    def tell(self, action, reward, info):
        self.free[action] = False
        if self.best is None or reward > self.best[0]:
            self.best = reward, action

    def recommend(self):
        return self.ask() if self.best is None else self.best[1]


def neighbours_of_iris():
    """Accuracy of nearest neighbours on iris, by their number and weights; trained when it is first used."""
    x, y = datasets.load_iris(return_X_y=True)
    grid = [(k, weights) for k in range(1, 31) for weights in ("uniform", "distance")]
    models = [neighbors.KNeighborsClassifier(k, weights=weights) for k, weights in grid]
    scores = [model_selection.cross_val_score(model, x, y, cv=5).mean() for model in models]
    frame = pd.DataFrame(grid, columns=["neighbours", "weights"]).assign(accuracy=scores)
    return user.from_frame(frame, "accuracy", "max")


class NeighboursEnv(LookupEnv):
    """Choose the number and the weights of nearest neighbours.

    ## Description
    60 classifiers of scikit-learn on iris, evaluated by five-fold cross-validation. Id: `Neighbours-v0`.

    ## Action Space
    `Discrete(rows)`: the configuration.

    ## Rewards
    Accuracy.

    ## Table
    Measured when the environment is first made.

    ## References
    Ronald Fisher. The use of multiple measurements in taxonomic problems. Annals of Eugenics 7:179-188, 1936.
    """

    @staticmethod
    def _params(*, objective="accuracy", budget=20, **kwargs):
        return LookupParams.of(("user/iris-neighbours",), objective=objective, budget=budget, **kwargs)


NeighboursVectorEnv = NeighboursEnv.vectorized()
IDS = (Spec("Neighbours-v0", ("user/iris-neighbours",)),)
FAMILY = Family("Neighbours", "user", "hpo_envs_example:NeighboursEnv", IDS)
