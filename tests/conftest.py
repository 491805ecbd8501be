"""What every test shares: no windows, repeatable examples, and the data sets that do not belong to the repository."""

from __future__ import annotations

import os
from pathlib import Path

os.environ["MPLBACKEND"] = "Agg"  # before anything imports matplotlib

import pytest
from hypothesis import settings

ROOT = Path(__file__).resolve().parents[1]

settings.register_profile("default", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, database=None)
settings.load_profile("ci" if os.environ.get("CI") else "default")


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of data sets beside the repository; without it, tests that ask for it are skipped."""
    folder = ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("needs the data sets in ../shared/data")
    return folder
