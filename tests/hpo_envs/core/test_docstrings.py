"""Google-style docstrings, taken apart."""

from __future__ import annotations

from hpo_envs.core import docstrings


def test_docstrings_are_taken_apart() -> None:
    doc = docstrings.parse(
        """First line.

        More, with `code`.

        Formula:
            a = b

            c = d

        Paper: Somebody. A title.
        Venue 2020.

        Args:
            x: The first,
                over two lines.
            **rest: Others.

        Last words.
        """
    )
    assert doc.text == "First line.\n\nMore, with `code`.\n\nLast words."
    assert doc.sections["Formula"] == "a = b\n\nc = d"
    assert doc.sections["Paper"] == "Somebody. A title.\nVenue 2020."
    assert doc.items("Args") == {"x": "The first, over two lines.", "**rest": "Others."}
