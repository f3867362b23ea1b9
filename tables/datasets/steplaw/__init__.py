"""Step Law: language models pretrained on grids of learning rate and batch size."""

SIZES = {"215m": 214_663_680, "268m": 268_304_384, "429m": 429_260_800, "537m": 536_872_960, "1074m": 1_073_741_824}
"""Name of a dense model -> number of its parameters."""

_TOKENS = {
    "215m": (4.0, 11.4, 20.0, 100.0), "268m": (5.0, 14.2, 25.0, 80.0), "429m": (8.0, 22.7, 40.0, 50.0),
    "537m": (10.0, 28.4, 50.0), "1074m": (20.0, 56.9),
}  # fmt: skip
"""Name of a dense model -> numbers of training tokens, in billions."""

GRIDS: dict[str, tuple[str, float]] = {
    **{f"{size}-{round(billions)}b": (size, billions) for size, each in _TOKENS.items() for billions in each},
    **{
        f"moe-{model}-{round(billions)}b": (model, billions)
        for model in ("1in8", "1in89", "2in88", "3in8")
        for billions in (2.0, 4.0, 8.0, 20.0)
    },
}
"""Name in ids, with rounded billions -> model and billions of tokens; tokens of `1in8` visit one of eight experts."""

TABLES = tuple(f"steplaw/{name}" for name in GRIDS)
"""Names of the tables."""

HIGHEST = 12.0
"""Cap of losses in nats; a uniform guess among the vocabulary has 11.1, which is also the highest in the files."""
