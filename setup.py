"""The build: agents, tables and benchmarks become packages of hpo_envs, also in a clone without symbolic links."""

from setuptools import find_packages, setup

folders = {"hpo_envs": "hpo_envs"} | {f"hpo_envs.{name}": name for name in ("agents", "tables", "benchmarks")}
names = [name for name, folder in folders.items() for name in (name, *(f"{name}.{p}" for p in find_packages(folder)))]
setup(package_dir=folders, packages=list(dict.fromkeys(names)))
