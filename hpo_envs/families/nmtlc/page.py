"""NMTLC: learning curves of machine translation systems as multi-fidelity environments."""

from typing import Any

from hpo_envs.core.engines.curves.params import CurveParams
from hpo_envs.core.engines.curves.scalar import CurvesEnv
from hpo_envs.core.params import Objectives
from hpo_envs.tables.checks import one_of
from hpo_envs.tables.datasets.nmtlc import CORPORA


class NMTLCEnv(CurvesEnv):
    """Multi-fidelity hyperparameter optimisation of machine translation systems on measured learning curves.

    ## Description
    Zhang and Duh (2024) published the validation curves of 2,483 training runs for a study of successive halving:
    Transformers trained from scratch on six corpora, most of them those of NMTHPO (Zhang and Duh 2020), and large
    language models fine-tuned with low-rank adapters on two. Upstream names a third corpus of fine-tuned models, German
    to English; the released file has none of its curves. One step trains one system up to one checkpoint, continuing
    from the checkpoint reached before, and pays only for the new part. One episode is one optimisation run.

    Ids: `NMTLC-zhen-v0` (148 rows x 157 checkpoints), `NMTLC-ruen-v0` (193 x 165), `NMTLC-jaen-v0` (177 x 569),
    `NMTLC-enja-v0` (179 x 423), `NMTLC-swen-v0` (819 x 133), `NMTLC-soen-v0` (646 x 77), `NMTLC-ft-fren-v0`
    (162 x 74), `NMTLC-ft-zhen-v0` (159 x 28).

    ## Action Space
    `MultiDiscrete([rows, checkpoints])`: index of a configuration, in a fixed pseudo-random order, and of the
    checkpoint to train it to. From scratch a checkpoint is 2,000 updates; hyperparameters `bpe` (not on zh-en, where it
    is 30 in the whole file), `layers`, `embed`, `hidden`, `init_lr`. Attention heads were not recorded, so most
    configurations have two rows with equal features (on zh-en up to six). Fine-tuned: `base` (bloomz, xglm), `layers`,
    `embed`, `batch_size`, `init_lr`, `rank`.

    ## Observation Space
    d = 4 on zh-en, 5 on the other corpora from scratch, 7 for fine-tuned models.

    ## Rewards
    The metric `objective` at that checkpoint, negative if lower is better. Default: minus the natural logarithm of
    the validation perplexity, -40 to 0.

    ## Starting State
    The table has one run per row, so the seed affects only `shuffle` and `subsample`.

    ## Information
    `metrics`: `log_perplexity`, `perplexity`, and `bleu` for fine-tuned models; `status`: `ok`; `truncated` at the end
    of a run that ended without the stopping rule.

    ## Arguments
    - `corpus`: zhen, ruen, jaen, enja, swen, soen, ft-fren or ft-zhen.
    - `objective="log_perplexity"`: any metric, or a tuple of metrics for a vector reward.
    - `cost=None`: updates (from scratch) or checkpoints (fine-tuned), all that was recorded; or `"evaluations"`.

    ## Table
    One run per row, MIT licence. zh-en has 105 distinct curves in 148 rows, as published.

    ## References
    Xuan Zhang and Kevin Duh. Best Practices of Successive Halving on Neural Machine Translation and Large Language
    Models. AMTA 2024. https://github.com/Este1le/hpo_nmt
    Xuan Zhang and Kevin Duh. Reproducible and Efficient Benchmarks for Hyperparameter Optimization of Neural
    Machine Translation Systems. Transactions of the ACL 8:393-408, 2020.
    """

    @staticmethod
    def _params(corpus: str = "swen", *, objective: Objectives = "log_perplexity", **kwargs: Any) -> CurveParams:
        one_of("corpus", corpus, CORPORA)
        return CurveParams.of(f"nmtlc/{corpus}", objective=objective, **kwargs)


NMTLCVectorEnv = NMTLCEnv.vectorized()
