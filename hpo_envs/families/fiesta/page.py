"""FIESTA: model selection as a bandit (Moss et al. 2019)."""

from typing import Any

from hpo_envs.core.engines.bandit.params import BanditParams
from hpo_envs.core.engines.bandit.scalar import BanditEnv


class FIESTAEnv(BanditEnv):
    """Model selection as a bandit: find the model with the best mean score.

    ## Description
    Moss et al. (2019) select between models whose scores vary with the train-test split and the random seed. An arm
    is a model; one pull is one evaluation on a fresh split and seed, resampled from the measured ones. One episode
    is one model selection with a budget of evaluations.

    Ids: `FIESTA-tdsa8-v0` and `FIESTA-tdsa12-v0` (8 and 12 models of target-dependent sentiment analysis, macro F1),
    `FIESTA-ner-v0` (2 named entity recognisers), `FIESTA-gaussian-v0` (synthetic arms, five by default).

    ## Action Space
    `Discrete(arms)`: the model to evaluate. With `batch_size=b`: `MultiDiscrete([arms] * b)`, b evaluations at once,
    possibly several of one model. Names of the models: `env.unwrapped.table.keys`, in a fixed pseudo-random order;
    Gaussian arms with given `means` keep the given order.

    ## Observation Space
    `Box`, float32, with n arms:

    | index | content | range |
    |---|---|---|
    | 0 to n - 1 | fraction of the budget used on each arm | 0 to 1 |
    | n to 2n - 1 | mean reward of each arm, the lowest reward before its first pull | bounds of the metric |
    | 2n to 3n - 1 | standard deviation of each arm's rewards (ddof 0) | 0 to half the metric's width |
    | 3n | reward of the step | bounds of the metric |
    | 3n + 1 | its cost | 0 to b evaluations |
    | 3n + 2 | fraction of the budget left | 0 to 1 |

    ## Rewards
    The score of the evaluation, higher is better: macro F1 (tdsa), test F1 (ner), a Gaussian draw (gaussian). With a
    batch the reward is the mean of the batch, and `info["scores"]` has each.

    ## Starting State
    Nothing evaluated, full budget. The seed determines every pull: the k-th pull of an arm in an episode is the same
    for any order of pulls.

    ## Episode End
    Terminated when the remaining budget is too small for another step. Never truncated by itself.

    ## Information
    At reset: `table`, `kind` (`measured` or `surrogate`), `sha256` of the table, `action_mask`.
    At each step: `cost` (float, evaluations: 1, or b), `metrics` (dict of float: `f1`; `test_f1` and
    `validation_f1`; or `score`; the mean of a batch), `status` (`ok`), `scores` ((b,) float64, only with a batch),
    `action_mask` ((n,) int8, all ones, only without a batch). With `workers`:
    `finished`, `action` and `clock`; nothing else is meaningful while `finished` is False.

    ## Arguments
    - `task`: tdsa8, tdsa12, ner or gaussian; fixed by the id.
    - `table=None`: a `Table` instead of the one of the id.
    - `objective=None`: the rewarded metric; None = `f1`, `test_f1` or `score`.
    - `cost="evaluations"`: the only cost measured.
    - `budget=204`: evaluations (section 5.1); None = as many as the table has (gaussian: 500 per arm).
    - `batch_size=None`: evaluations in one step.
    - `replacement=True`: False draws an arm's evaluations without replacement, in a new order once all were drawn.
    - `workers=1`: simulated workers; a step submits an evaluation, and no result is returned (`info["finished"]` False,
      reward and cost 0) until all are busy. Then each step returns the evaluation that finishes first:
      `info["action"]` and `info["clock"]` belong to it. Once the budget is submitted, the actions of the remaining
      steps do nothing. Not with `batch_size`.
    - `durations=None`: duration of an evaluation of each model, in the table's order; None = 1 for all.
    - `shuffle=False`: True shuffles the models at each `reset`, so that the index of an action carries no
      information. `env.unwrapped.rows` and `info["row"]` map it to the row of the table.
    - `subsample=1.0`: fraction of the models, in (0, 1], that each episode has, drawn at `reset`; the
      action space shrinks with it.
    - `shared=False`: True uses the same split for the k-th pulls of all arms. Scores on one split correlate across
      models (0.4 to 0.7), so comparisons have less variance.
    - ner: `fix_split=None`, 0 to 149, and `fix_seed=None`, 0 to 4: hold one of them fixed and vary the other
      (section 2 shows why both must vary).
    - gaussian: `means=(0.65, 0.69, 0.69, 0.70, 0.71)`, `deviations=0.01` (section 4.2), `bounds=(0, 1)` of the score.

    ## Table
    500 evaluations of each sentiment model; 150 splits x 5 seeds of each recogniser. Apache 2.0 licence.
    `FIESTA-gaussian-v0` is synthetic: the `kind` of its table is `surrogate`.

    ## References
    Henry B. Moss, Andrew Moore, David S. Leslie and Paul Rayson. FIESTA: Fast IdEntification of State-of-The-Art
    models using adaptive bandit algorithms. ACL 2019.
    """

    @staticmethod
    def _params(task: str = "tdsa8", **kwargs: Any) -> BanditParams:
        return BanditParams.of(task, **kwargs)


FIESTAVectorEnv = FIESTAEnv.vectorized()
