"""Families of environments, one package each: ids, arguments and splits in `__init__`, classes in `page`."""
