"""Wiemerslage, Gorman and von der Wense 2024: character transduction sweeps."""

TASKS = {"inflection": "sig-2017-inflection", "g2p": "sig-2021-g2p"}
"""Name in ids -> name in upstream's files."""

LANGUAGES = {
    "inflection": {"alb": "albanian", "ara": "arabic", "cat": "catalan", "dut": "dutch", "gle": "irish", "hai": "haida",
                   "hun": "hungarian", "rom": "romanian"},
    "g2p": {"arm_e": "arm_e", "dut": "dut", "geo": "geo", "hun": "hun"},
}  # fmt: skip
"""Languages of each task: code in Table 6 -> name in upstream's files."""

ARCHITECTURES = {"lstm": "attentive_lstm", "transformer": "transformer"}
"""Name in ids -> name in upstream's files."""

SWEEPS = tuple((task, lang, arch) for task, langs in LANGUAGES.items() for lang in langs for arch in ARCHITECTURES)
"""Task, language and architecture of each sweep, in the order of the ids."""

TABLES = tuple(f"charhpo/{task}-{lang}-{arch}" for task, lang, arch in SWEEPS)
"""Names of the tables."""

RUNS = 200
"""Number of runs of a sweep (section 4.1)."""

SCHEDULERS = ("none", "reduceonplateau", "warmupinvsqrt")
"""Learning rate schedulers, in the fixed order of appendix A."""

WARMUP_STEP = 100
"""Step between the values of `warmup_samples` (Table 2)."""


def parts(name: str) -> tuple[str, str, str]:
    """Task, language and architecture of a table."""
    task, lang, architecture = name.partition("/")[2].split("-")
    return task, lang, architecture
