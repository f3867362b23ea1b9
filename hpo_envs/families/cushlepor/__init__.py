"""CushLEPOR: tuning the weights of a translation metric against human scores (Han et al. 2021)."""

from hpo_envs.core.family import Family, Spec


def _news(test_set: str, pair: str, labels: str) -> Spec:
    kwargs = {"pair": f"{test_set}-{pair}", "labels": labels}
    return Spec(f"CushLEPOR-{test_set}-{pair}-v0", (f"cushlepor/{test_set}-{pair}-{labels}",), kwargs)


FAMILY = Family(
    name="CushLEPOR", dataset="cushlepor", entry_point=f"{__name__}.page:CushLEPOREnv",
    ids=(
        *(Spec(f"CushLEPOR-ted-{p}-v0", (f"cushlepor/ted-{p}",), {"pair": f"ted-{p}"}) for p in ("ende", "zhen")),
        *(_news("newstest2020", p, "psqm") for p in ("ende", "zhen")),
        *(_news("newstest2021", p, "mqm") for p in ("ende", "zhen")),
    ),
    references=("freitag2021experts", "han2021cushlepor"),
)  # fmt: skip
