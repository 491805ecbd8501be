"""Pages from what was computed: one a table or figure, and a first one with the counts of the verdicts."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import ldssc
from ldssc.experiments import verdicts
from ldssc.experiments.cells import make_folder
from ldssc.experiments.planning import Page, Request, markdown
from ldssc.experiments.settings import SEED
from ldssc.writing import write_atomically

PACKAGES = ("numpy", "scipy", "scikit-learn")


@dataclass(frozen=True)
class Made:
    """How the pages came about."""

    request: Request
    jobs: int
    seconds: float
    computed: int
    kept: int


def write_pages(folder: Path, pages: Sequence[Page], made: Made, missing: Sequence[str]) -> list[Path]:
    """FOLDER/index.md, and FOLDER/NAME.md for each page, with the pictures that it shows."""
    make_folder(folder)
    files = [_write(folder / "index.md", _index(pages, made, missing))]
    for page in pages:
        for picture in re.findall(r"]\((\S+\.png)\)", page.body):
            if folder.resolve() != made.request.out.resolve() and (made.request.out / picture).exists():
                files.append(_copy(made.request.out / picture, folder / picture))
        files.append(
            _write(folder / f"{page.name}.md", f"# {page.title}\n\n{_counted(page)}{page.body}\n\n{how(made)}")
        )
    return files


def how(made: Made) -> str:
    """Versions, threads, processor, seed and time, in one paragraph."""
    used = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    extent = "--quick" if made.request.quick else "--full" if made.request.full else "the default extent"
    return (
        f"Made by ldssc {ldssc.__version__}{_commit()}, Python {platform.python_version()}, {used}; {_processor()}; "
        f"{made.jobs} {'process' if made.jobs == 1 else 'processes'} of one BLAS thread each; seed {SEED}; {extent}; "
        f"{made.computed} cells computed in {made.seconds / 60:.1f} minutes, {made.kept} kept from earlier runs.\n"
    )


def _index(pages: Sequence[Page], made: Made, missing: Sequence[str]) -> str:
    rows = [
        {"page": f"[{page.title}]({page.name}.md)", "protocol": protocol, **counted}
        for page in pages
        for protocol, counted in (page.verdicts or {"": {}}).items()
    ]
    words = "".join(f"- {sentence}\n" for sentence in missing)
    lacking = f"\nNot computed:\n\n{words}" if missing else ""
    return (
        "# The paper, reproduced\n\n"
        "Every table and figure of *Efficient Semidefinite Spectral Clustering via Lagrange Duality*, run again, each number "
        "beside the paper's. MATCH: within one sample or half a per cent of the printed number, whichever is more; BETTER "
        "or WORSE: outside. Protocol A was stated in advance and is the same for every method; B is the result of a "
        "search for the most favourable reading of what the paper leaves open, over the same candidates for every "
        "method. Regenerate with `ldssc reproduce all --data DATA --out OUT --pages docs/reproduction`.\n\n"
        f"{markdown(rows, ('page', 'protocol', verdicts.MATCH, verdicts.BETTER, verdicts.WORSE))}{lacking}\n{how(made)}"
    )


def _counted(page: Page) -> str:
    lines = [
        f"{protocol or 'Verdicts'}: {', '.join(f'{count} {word}' for word, count in counted.items())}."
        for protocol, counted in page.verdicts.items()
    ]
    return "  \n".join(lines) + "\n\n" if lines else ""


def _write(path: Path, text: str) -> Path:
    write_atomically(path, lambda stream: stream.write(text.encode()))
    return path


def _copy(source: Path, target: Path) -> Path:
    write_atomically(target, lambda stream: stream.write(source.read_bytes()))
    return target


def _commit() -> str:
    """The commit, where the package runs from a checkout."""
    try:
        done = subprocess.run(
            ["git", "describe", "--always", "--dirty"],
            cwd=Path(__file__).parent,
            capture_output=True,
            text=True,
            timeout=5,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return f" at {done.stdout.strip()}"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    name = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "")
    return f"{name or platform.processor() or platform.machine()}, {os.cpu_count()} cores"
