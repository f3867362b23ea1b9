"""Families, one package each: ids, their arguments and splits in `__init__`, docstrings of classes in `page`."""
