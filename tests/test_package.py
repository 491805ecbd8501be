"""What is promised around the library: the README, the versions, the imports."""

from __future__ import annotations

import importlib.metadata
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

import ldssc

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
OPTIONAL = ("typer", "rich", "cvxpy", "clarabel", "scs", "matplotlib", "PIL", "pooch", "requests", "rdata")


def code_blocks(page: Path, language: str) -> list[str]:
    """The fenced blocks of one language, in order."""
    return re.findall(rf"^```{language}\n(.*?)^```$", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def tree() -> list[Path]:
    """Every file that is in the repository, or would be after `git add`."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("not a git checkout")
    return [path for name in set(listed.stdout.split("\0")) if name and (path := ROOT / name).is_file()]


def test_version_is_that_of_the_installed_distribution_and_of_the_citation() -> None:
    assert ldssc.__version__ == importlib.metadata.version("ldssc") == PROJECT["version"]
    assert f"\nversion: {ldssc.__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ldssc.__all__)
def test_public_name_exists_and_is_documented(name: str) -> None:
    value = getattr(ldssc, name)
    assert (value.__doc__ or "").strip()


def test_package_is_marked_as_typed() -> None:
    assert (Path(ldssc.__file__).parent / "py.typed").is_file()


def test_first_code_block_of_the_readme_has_two_lines() -> None:
    first = re.search(r"^```.*?\n(.*?)^```$", PAGES[0].read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    assert first is not None
    install, check = first[1].splitlines()
    assert install.endswith("ldssc demo")
    assert "pytest" in check
    assert "activate" not in first[1]


@pytest.mark.parametrize("page", [page for page in PAGES if code_blocks(page, "python")], ids=lambda page: page.name)
def test_python_blocks_of_a_page_run(page: Path, tmp_path: Path) -> None:
    for block in code_blocks(page, "python"):
        subprocess.run([sys.executable, "-W", "error", "-c", block], cwd=tmp_path, check=True, timeout=120)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_relative_links_of_a_page_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_no_file_names_a_package_registry() -> None:
    names = [(b"pypi", b"org"), (b"pythonhosted", b"org"), (b"debian", b"org"), (b"npmjs", b"org"), (b"npmjs", b"com")]
    hosts = re.compile(b"|".join(re.escape(b".".join(parts)) for parts in names))  # in parts: this file is read too
    assert [path.relative_to(ROOT) for path in tree() if hosts.search(path.read_bytes())] == []


def test_import_leaves_the_optional_parts_alone() -> None:
    absent = [name for name in OPTIONAL if name != "rich"]  # scikit-learn takes Rich where it finds it
    code = f"import sys, ldssc; print(*[name for name in {absent!r} if name in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == []


def test_every_public_name_works_without_the_extras_installed() -> None:
    code = f"import sys\nfor name in {OPTIONAL!r}: sys.modules[name] = None\nimport ldssc\n"
    code += "for name in ldssc.__all__: getattr(ldssc, name)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_oldest_versions_are_the_lower_bounds_of_the_project() -> None:
    lines = (ROOT / "tests" / "oldest.txt").read_text().splitlines()
    pins = dict(line.split("==") for line in lines if not line.startswith("#"))
    extras = PROJECT["optional-dependencies"]
    required = [*PROJECT["dependencies"], *(line for name in extras if name != "all" for line in extras[name])]
    for requirement in map(Requirement, required):
        (bound,) = requirement.specifier
        assert bound.operator == ">="
        assert Version(pins[requirement.name]) == Version(bound.version), requirement.name


def test_ci_script_can_be_run() -> None:
    assert os.access(ROOT / ".ci" / "run", os.X_OK)
