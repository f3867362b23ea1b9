"""Known vulnerabilities of the installed packages, if a service that lists them can be reached.

    python tests/robustness/audit.py pip-audit SITE_PACKAGES

Fails if a package has a vulnerability that another release fixes, because our lower bound is then too old.
Vulnerabilities without a fix are only printed. States that it was skipped if no service answers.
"""

import json
import subprocess
import sys
from typing import Any


def verdict(found: dict[str, Any] | None, said: str) -> tuple[int, str]:
    """Exit status and what to print.

    Args:
        found: Output of `pip-audit --format json`; None if there is none.
        said: The end of its other output.
    """
    if found is None:
        return 0, f"skipped: no service that knows vulnerabilities answers here ({said})"
    packages = [d for d in found["dependencies"] if "vulns" in d]
    if not packages:
        return 0, f"skipped: the service knows none of the packages ({found['dependencies'][0].get('skip_reason')})"
    lines, status = [f"{len(packages)} packages asked about"], 0
    for d in packages:
        for v in d["vulns"]:
            mended = ", ".join(v["fix_versions"])
            lines.append(
                f"{d['name']} {d['version']}: {v['id']}, {f'mended in {mended}' if mended else 'not mended yet'}"
            )
            status |= bool(mended)
    return int(status), "\n".join(lines)


def main() -> int:
    """Run the audit and print the result."""
    tool, folder = sys.argv[1:]
    command = [tool, "--path", folder, "--format", "json", "--progress-spinner", "off", "--timeout", "5"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=90)
    except subprocess.TimeoutExpired:
        status, text = verdict(None, "nothing within 90 s")
    else:
        last = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        try:
            status, text = verdict(json.loads(done.stdout), last)
        except json.JSONDecodeError:
            status, text = verdict(None, last[:300])
    print(text)
    return status


if __name__ == "__main__":
    sys.exit(main())
