"""Runs the fuzz targets with atheris, coverage guided: `python -m tests.fuzz.run --seconds 60 [TARGET ...]`.

Each target runs in a process of its own, so that one that crashes does not keep the others from running. An input
that crashes is printed as the line to add to the target's corpus, where the tests replay it for ever.
`--keep` adds to the corpus what reaches lines that nothing kept reaches. Exit code 1 when anything crashed.
"""

import argparse
import importlib.util
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.fuzz import corpus

NAMES = ("decoder", "header", "charsets", "acks", "stamps", "batches", "upstream", "server-side", "config")
_KEPT_LENGTH = 400
_ROOT = Path(__file__).parents[2]
_NEEDED = "atheris is not installed: pip install --require-hashes -r tests/fuzz/requirements.lock"


def main(arguments: Sequence[str]) -> int:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"all without: {', '.join(NAMES)}")
    parser.add_argument("--seconds", type=int, default=60, help="for each target")
    parser.add_argument("--keep", action="store_true", help="add what reaches new lines to the corpus")
    parser.add_argument("--child", nargs=2, metavar=("TARGET", "FOLDER"), help=argparse.SUPPRESS)
    parser.add_argument("--weed", nargs=2, metavar=("TARGET", "FOLDER"), help=argparse.SUPPRESS)
    chosen, rest = parser.parse_known_args(arguments)
    if chosen.child:
        name, folder = chosen.child
        return _fuzz(name, folder, rest)
    if chosen.weed:
        return _weed(*chosen.weed)
    if rest or not set(chosen.targets) <= set(NAMES):
        parser.error(f"no such target or option: {', '.join(rest) or ', '.join(set(chosen.targets) - set(NAMES))}")
    if importlib.util.find_spec("atheris") is None:
        parser.error(_NEEDED)
    crashed = [name for name in chosen.targets or NAMES if not _run(name, chosen.seconds, is_kept=chosen.keep)]
    _tell(f"crashed: {', '.join(crashed)}" if crashed else "nothing crashed")
    return 1 if crashed else 0


def _run(name: str, seconds: int, *, is_kept: bool) -> bool:
    """Run one target in a process of its own; True when nothing crashed."""
    _tell(f"== {name}: {seconds} s")
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        inputs, crashes = Path(folder, "inputs"), Path(folder, "crashes")
        inputs.mkdir()
        crashes.mkdir()
        for place, data in enumerate(corpus.kept(name)):
            (inputs / f"kept-{place}").write_bytes(data)
        words = [f"-max_total_time={seconds}", f"-artifact_prefix={crashes}/"]
        words += ["-timeout=25", "-rss_limit_mb=2048", "-print_final_stats=1", "-verbosity=0"]
        done = _child("--child", name, str(inputs), *words)
        for crash in sorted(crashes.iterdir()):
            _tell(f"{name}: {crash.name}, the line for its corpus:\n{crash.read_bytes()!r}")
        if is_kept and done == 0:
            _child("--weed", name, str(inputs))
        return done == 0


def _tell(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _child(*words: str) -> int:
    command = [sys.executable, "-m", "tests.fuzz.run", *words]
    return subprocess.run(command, cwd=_ROOT, env={**os.environ, "PYTHONHASHSEED": "0"}, check=False).returncode


def _fuzz(name: str, folder: str, words: Sequence[str]) -> int:
    """Fuzz in this process; atheris ends it."""
    import atheris  # type: ignore[import-untyped, unused-ignore]  # it has no stubs, and need not be there

    with atheris.instrument_imports(include=["gateway"]):
        from tests.fuzz.catalogue import by_name
    target = by_name(name)
    for place, data in enumerate(target.seeds()):
        Path(folder, f"seed-{place}").write_bytes(data)
    dictionary = Path(folder).parent / "tokens.dict"
    dictionary.write_text("".join('"' + "".join(f"\\x{byte:02x}" for byte in token) + '"\n' for token in target.tokens))
    atheris.Setup([sys.argv[0], f"-dict={dictionary}", f"-max_len={target.longest}", *words, folder], target.one)
    atheris.Fuzz()
    return 0


def _weed(name: str, folder: str) -> int:
    """Keep, of all that was found, the shortest inputs that reach what no seed and no shorter one reaches."""
    from tests.fuzz.catalogue import by_name
    from tests.fuzz.reach import reached

    target = by_name(name)
    known: set[object] = set()
    for seed in target.seeds():
        known |= reached(lambda seed=seed: target.one(seed))  # type: ignore[misc]  # the default binds the loop's value
    found = sorted((file.read_bytes() for file in Path(folder).iterdir()), key=lambda data: (len(data), data))
    chosen = []
    for data in (each for each in found if len(each) <= _KEPT_LENGTH):
        lines = reached(lambda data=data: target.one(data))  # type: ignore[misc]  # the default binds the loop's value
        if not lines <= known:
            known |= lines
            chosen.append(data)
    corpus.keep(name, [*corpus.kept(name), *chosen])
    _tell(f"{name}: {len(chosen)} inputs reach what the seeds do not")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
