"""Families of environments, one package each: ids, arguments and splits in `__init__`, most classes in `page`."""
