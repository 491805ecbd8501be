"""Every check of the project, each in its own environment: `nox -l` lists them."""

from __future__ import annotations

import nox

nox.needs_version = ">=2025.2.9"
nox.options.sessions = ["tests", "oldest", "core", "lint", "types", "docs"]

PYPROJECT = nox.project.load_toml("pyproject.toml")


def install(session: nox.Session, group: str, *arguments: str) -> None:
    """One installation of a dependency group and what else is named; pip's own --group is too new for Python 3.11."""
    session.install(*nox.project.dependency_groups(PYPROJECT, group), *arguments)


@nox.session(python=["3.11", "3.12", "3.13"])
def tests(session: nox.Session) -> None:
    """The tests on the newest versions of everything."""
    install(session, "test", "-e", ".[all]")
    session.run("pytest", *session.posargs)


@nox.session(python="3.11")
def oldest(session: nox.Session) -> None:
    """The tests on the oldest supported versions of all dependencies."""
    install(session, "test", "-e", ".[all]", "-c", "tests/oldest.txt")
    session.run("pytest", *session.posargs)


@nox.session(python="3.11")
def core(session: nox.Session) -> None:
    """The tests without the extras; those that need one are skipped."""
    install(session, "test", "-e", ".")
    session.run("pytest", *session.posargs)


@nox.session(python="3.11")
def lint(session: nox.Session) -> None:
    """Ruff: rules and layout."""
    install(session, "lint")
    session.run("ruff", "check")
    session.run("ruff", "format", "--check")


@nox.session(python="3.11")
def types(session: nox.Session) -> None:
    """mypy, strict, on the library."""
    install(session, "lint", "-e", ".[all]")
    session.run("mypy", "src")


@nox.session(python="3.11")
def docs(session: nox.Session) -> None:
    """The pages of docs/ as a site; a broken link is an error."""
    install(session, "docs")
    session.run("mkdocs", "build", "--strict", *session.posargs)


@nox.session(python="3.11")
def benchmark(session: nox.Session) -> None:
    """The paper's figure 6: LD-SSC1, LD-SSC2 and the conic solvers on growing toy data."""
    session.install("-e", ".[all]")
    session.run("python", "benchmarks/paper/run.py", *session.posargs)
