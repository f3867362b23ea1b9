"""Fuzzing that is guided by the lines it reaches, where Atheris is installed (pip install atheris).

    python tests/robustness/fuzz_guided.py --runs 20000

Every reader of files of test_fuzz.py gets so many inputs, grown from a good file. Only documented errors may come
out. What it finds beyond hypothesis' inputs would be there; prints the inputs and the branches reached.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent


def work(entry: str, seeds: str, runs: int) -> None:
    """Fuzzes one reader in this process; never returns."""
    import atheris

    sys.path.insert(0, str(HERE))
    with atheris.instrument_imports(include=["hpo_envs"]):
        import test_fuzz

        from hpo_envs.tables.datasets.nasbenchnlp import logs
    readers = {k: v for k, (_, v) in test_fuzz.READERS.items()}
    readers |= {"zip": lambda d: logs.read_archive(d, "file")}

    def one(data: bytes) -> None:
        try:
            readers[entry](data)
        except ValueError:
            pass

    atheris.Setup([sys.argv[0], f"-runs={runs}", "-max_len=4096", "-timeout=20", "-rss_limit_mb=2048", seeds], one)
    atheris.Fuzz()


def main() -> int:
    """Fuzzes every reader in a process of its own and prints a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=20_000, help="inputs of each reader (default: %(default)s)")
    parser.add_argument("--entry", nargs=2, metavar=("NAME", "SEEDS"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.entry:
        work(*args.entry, args.runs)
    sys.path.insert(0, str(HERE))
    import test_fuzz

    good = {k: v for k, (v, _) in test_fuzz.READERS.items()}
    good |= {"zip": test_fuzz.GOOD_ZIP}
    status = 0
    print("| reader | inputs | branches | findings |\n|---|---:|---:|---:|")
    for entry, content in good.items():
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "seeds").mkdir()
            (Path(folder) / "seeds" / "good").write_bytes(content[:4096])
            command = [sys.executable, __file__, f"--runs={args.runs}", "--entry", entry, f"{folder}/seeds"]
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        counts = re.findall(r"#(\d+)\s+\w+\s+cov: (\d+)", done.stderr) or [("0", "0")]
        status |= done.returncode
        print(f"| {entry} | {int(counts[-1][0]):,} | {counts[-1][1]} | {int(done.returncode != 0)} |", flush=True)
        if done.returncode:
            print(done.stderr[-1500:], file=sys.stderr)
    return int(status != 0)


if __name__ == "__main__":
    sys.exit(main())
