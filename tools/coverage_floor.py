"""Holds the coverage line: 100 % of branches in the pure rooms, and a whole that only rises."""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
FLOOR = ROOT / "tools" / "coverage.floor"
PURE = ("gateway/core/", "gateway/wire/", "gateway/model/")


def main() -> int:
    """Combine, report, and compare with the recorded floor."""
    python = [sys.executable, "-m", "coverage"]
    subprocess.run([*python, "combine", "--quiet"], cwd=ROOT, check=False)
    subprocess.run([*python, "report"], cwd=ROOT, check=True)
    text = subprocess.run([*python, "json", "-q", "-o", "-"], cwd=ROOT, check=True, capture_output=True, text=True)
    report = json.loads(text.stdout)
    short = [
        name
        for name, file in report["files"].items()
        if name.startswith(PURE) and (file["summary"]["missing_lines"] or file["summary"].get("missing_branches"))
    ]
    for name in short:
        print(f"{name}: below 100 % of lines and branches")
    whole, floor = report["totals"]["percent_covered"], float(FLOOR.read_text())
    print(f"coverage {whole:.2f} %, floor {floor:.2f} %")
    if whole < floor:
        print("the whole fell below the floor in tools/coverage.floor")
    return 1 if short or whole < floor else 0


if __name__ == "__main__":
    sys.exit(main())
