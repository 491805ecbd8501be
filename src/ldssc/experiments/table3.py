"""Table III: lowest and mean error rates on the cancer, face, object and letter sets."""

from __future__ import annotations

from dataclasses import replace

from ldssc.experiments import error_tables
from ldssc.experiments.planning import Plan, Request
from ldssc.experiments.settings import TABLE_III, TABLE_III_QUICK


def plan(request: Request) -> Plan:
    """Its cells and rows."""
    return error_tables.plan(request, replace(TABLE_III_QUICK if request.quick else TABLE_III, full=request.full))
