"""Documents that must not drift from the code."""

import re
import subprocess
import sys
from pathlib import Path

from gateway.config.reference import reference
from gateway.core.states import diagram

ROOT = Path(__file__).parent.parent


def test_the_state_diagram_is_the_transition_table() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text()
    shown = text.split("<!-- states: begin -->")[1].split("<!-- states: end -->")[0]
    assert shown.strip() == f"```mermaid\n{diagram()}```"


def test_the_key_reference_is_the_model_s() -> None:
    assert (ROOT / "docs" / "configuration.md").read_text() == reference()


def test_every_link_between_documents_leads_somewhere() -> None:
    for document in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]:
        for target in re.findall(r"\]\(([^)#]+)\)", document.read_text()):
            if "://" not in target:
                assert (document.parent / target).exists(), f"{document.name}: {target}"


def test_every_decision_is_listed() -> None:
    listed = (ROOT / "docs" / "adr" / "README.md").read_text()
    for decision in (ROOT / "docs" / "adr").glob("0*.md"):
        assert decision.name in listed


def test_every_command_of_the_readme_exists() -> None:
    output = subprocess.run(
        [sys.executable, "-m", "gateway", "--help"], capture_output=True, text=True, check=True, cwd=ROOT
    ).stdout
    table = (ROOT / "README.md").read_text().split("## Commands")[1].split("Interfaces for")[0]
    for line in table.splitlines():
        if line.startswith("| `"):
            for command in re.findall(r"`([a-z]+)", line.split("|")[1]):
                assert f" {command} " in output, command


def test_modules_stay_small() -> None:
    sizes = {path: len(path.read_text().splitlines()) for path in (ROOT / "gateway").rglob("*.py")}
    assert max(sizes.values()) <= 400
    whole = sorted(size for size in sizes.values() if size > 5)
    assert whole[len(whole) // 2] <= 140


def test_the_lock_files_hold_hashes_and_name_no_index() -> None:
    for name in ("requirements.lock", "requirements-dev.lock"):
        text = (ROOT / name).read_text()
        pins = re.findall(r"^([a-z0-9._-]+)==", text, re.MULTILINE)
        assert len(pins) > 20
        assert text.count("--hash=sha256:") >= len(pins)
        assert "index-url" not in text
        assert "://" not in text
