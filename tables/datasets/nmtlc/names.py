"""The corpora."""

from __future__ import annotations

CORPORA: dict[str, tuple[str, str, str]] = {
    "zhen": ("scratch", "zh", "en"),
    "ruen": ("scratch", "ru", "en"),
    "jaen": ("scratch", "ja", "en"),
    "enja": ("scratch", "en", "ja"),
    "swen": ("scratch", "sw", "en"),
    "soen": ("scratch", "so", "en"),
    "ft-fren": ("finetune", "fr", "en"),
    "ft-zhen": ("finetune", "zh", "en"),
}
"""Name in ids -> task, source and target language in the file."""

LANGUAGES = {name: source if target == "en" else target for name, (_, source, target) in CORPORA.items()}
"""Name in ids -> the language besides English."""
