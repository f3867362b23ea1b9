"""Croissant metadata of the tables that ship: `python -m hpo_envs.tables.catalogue.croissant > croissant.json`.

Follows Croissant 1.0 (http://mlcommons.org/croissant/1.0). Paths are relative to the root of the repository.
"""

import hashlib
import importlib.metadata
import json
from pathlib import Path
from typing import Any

from hpo_envs.tables import catalogue

DATASETS = Path(__file__).parents[1] / "datasets"

_TERMS = (
    "citeAs column equivalentProperty extract field fileObject fileProperty fileSet format includes isLiveDataset "
    "jsonPath key md5 parentField path recordSet references regex repeated replace samplingRate separator source "
    "subField transform"
)
CONTEXT = {name: f"cr:{name}" for name in _TERMS.split()} | {
    "@language": "en", "@vocab": "https://schema.org/", "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/", "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"}, "dct": "http://purl.org/dc/terms/",
    "examples": {"@id": "cr:examples", "@type": "@json"}, "rai": "http://mlcommons.org/croissant/RAI/",
    "sc": "https://schema.org/",
}  # fmt: skip
"""The `@context` of the specification."""

LICENCES = ("MIT", "BSD-2-Clause", "Apache-2.0", "CC-BY-4.0")
"""SPDX names of the tables' licences; the authors of CharHPO state none, see docs/datasheet.md."""


def packs() -> list[Path]:
    """Paths of the `.npz` files with measurements, without those of fitted models and training texts."""
    pinned = catalogue.pins()
    return [p for p in sorted(DATASETS.rglob("*.npz")) if _name(p) in pinned or "measured" in _name(p)]


def document() -> dict[str, Any]:
    """Return the metadata: file objects of the packs and of their index, and a record set of the index."""
    index = _file(catalogue.PINS, "tables/catalogue/packs.csv", "text/csv", "Name and SHA-256 of packs and tables")
    column = "The table, `dataset/name`, or the pack", "SHA-256 of the table's canonical content, or of the file"
    fields = [
        {
            "@type": "cr:Field", "@id": f"tables/{name}", "name": name, "description": text, "dataType": "sc:Text",
            "source": {"fileObject": {"@id": index["@id"]}, "extract": {"column": name}},
        }
        for name, text in zip(("name", "sha256"), column, strict=True)
    ]  # fmt: skip
    used = {_name(p).partition("/")[0]: None for p in packs()}
    return {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": "hpo_envs",
        "description": "Recorded results of hyperparameter optimisation and architecture search in NLP: configurations "
        "with their metrics, learning curves and costs. " + " ".join(f"{catalogue.dataset(d).title}." for d in used),
        "citeAs": " ".join(catalogue.dataset(d).citation for d in used),
        "license": [f"https://spdx.org/licenses/{name}.html" for name in LICENCES],
        "creator": {"@type": "Organization", "name": "The hpo_envs developers"},
        "version": importlib.metadata.version("hpo_envs"),
        "distribution": [index, *map(_pack, packs())],
        "recordSet": [
            {"@type": "cr:RecordSet", "@id": "tables", "name": "tables", "key": {"@id": "tables/name"}, "field": fields}
        ],
    }


def _name(path: Path) -> str:
    return path.relative_to(DATASETS).as_posix()


def _pack(path: Path) -> dict[str, Any]:
    made = catalogue.dataset(_name(path).partition("/")[0])
    upstream = dict.fromkeys(f"{f.repository}@{f.commit} ({f.licence})" for f in catalogue.files_of(made.name))
    text = f"{made.title}. From {', '.join(upstream) or 'this project (MIT)'}. {made.citation}"
    return _file(path, f"tables/datasets/{_name(path)}", "application/x-npz", text)


def _file(path: Path, where: str, kind: str, description: str) -> dict[str, Any]:
    content = path.read_bytes()
    return {
        "@type": "cr:FileObject", "@id": where, "name": where, "description": description,
        "contentSize": f"{len(content)} B", "contentUrl": where, "encodingFormat": kind,
        "sha256": hashlib.sha256(content).hexdigest(),
    }  # fmt: skip


if __name__ == "__main__":
    print(json.dumps(document(), indent=2))
