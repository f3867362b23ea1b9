"""NASBenchNLP: curves and final losses of recurrent language models, cells node by node (Klyuchnikov et al. 2020)."""

from hpo_envs.core.family import Family, Spec

_REFERENCES = ("klyuchnikov2020nasbenchnlp",)

CURVES = Family(
    name="NASBenchNLP", dataset="nasbenchnlp", entry_point=f"{__name__}.page:NASBenchNLPEnv",
    ids=tuple(
        Spec(f"NASBenchNLP-{corpus}-v0", (f"nasbenchnlp/{corpus}",), {"dataset": corpus})
        for corpus in ("wikitext2", "ptb")
    ),
    short={"budget": 4e4}, references=_REFERENCES,
)  # fmt: skip

FINAL = Family(
    name="NASBenchNLP-ptb-final", dataset="nasbenchnlp", entry_point=f"{__name__}.page:NASBenchNLPFinalEnv",
    ids=(Spec("NASBenchNLP-ptb-final-v0", ("nasbenchnlp/ptb-final",)),),
    references=(*_REFERENCES, "serianni2023training"),
)  # fmt: skip

CELL = Family(
    name="NASBenchNLP-cell", dataset="nasbenchnlp", entry_point=f"{__name__}.cell:NASBenchNLPCellEnv",
    ids=(Spec("NASBenchNLP-cell-v0", ("nasbenchnlp/wikitext2",)),), references=_REFERENCES,
    leaderboard=({"budget": 160},),  # the id's own is a single cell; below 160, agents are level (docs/statistics.md)
)  # fmt: skip
