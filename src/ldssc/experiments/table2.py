"""Table II: lowest and mean error rates on the sets of the UCI repository."""

from __future__ import annotations

from dataclasses import replace

from ldssc.experiments import error_tables
from ldssc.experiments.planning import Plan, Request
from ldssc.experiments.settings import TABLE_II, TABLE_II_QUICK


def plan(request: Request) -> Plan:
    """Its cells and rows."""
    return error_tables.plan(request, replace(TABLE_II_QUICK if request.quick else TABLE_II, full=request.full))
