"""The paper's experiments: settings, run, compare, draw; one module a table or figure."""

from ldssc.experiments.planning import Request
from ldssc.experiments.running import EXPERIMENTS, Outcome, reproduce
from ldssc.experiments.settings import (
    FIGURE_IV,
    FIGURE_V,
    FIGURE_VI,
    TABLE_I,
    TABLE_II,
    TABLE_III,
    TABLE_IV,
    TABLE_V,
    TABLE_VI,
)

__all__ = [
    "EXPERIMENTS",
    "FIGURE_IV",
    "FIGURE_V",
    "FIGURE_VI",
    "TABLE_I",
    "TABLE_II",
    "TABLE_III",
    "TABLE_IV",
    "TABLE_V",
    "TABLE_VI",
    "Outcome",
    "Request",
    "reproduce",
]
