"""The claims of the paper's text, each with the test that decides it on the cells of protocol A."""

from __future__ import annotations

from typing import Any

import numpy as np

from ldssc.experiments import figure4, figure5, table4
from ldssc.experiments import paper_numbers as paper
from ldssc.experiments.computing import Task
from ldssc.experiments.planning import Found, markdown
from ldssc.experiments.protocols import errors, reading_a, record_of
from ldssc.experiments.settings import EXACT_ROW, fixed_parameter
from ldssc.experiments.statistics import Signs, paired_bootstrap, sign_test
from ldssc.experiments.study import Study, error_of

HOLDS, FAILS, OPEN, UNTESTED = "holds", "does not hold", "not decided", "not run"
LEVEL = 0.05
LD = ("LD-SSC1", "LD-SSC2", EXACT_ROW)
RIVALS = ("NO", "RC", "NC", "FSC")
WORSENED = ("iris", "bupa", "yale", "coil20", "alphadigits")


def page(study: Study, found: Found) -> str:
    """A table: claim, verdict, numbers. The speeds, the memory and the segmentations are on their own pages."""
    rows = [
        *_better(study, found),
        *_by_ten(study, found),
        *_worsen(study, found),
        _fsc_on_lung(study, found),
        *_stable(study, found),
        _same(study, found),
        _line(study, found),
        *_overlap(study, found),
        *_faster(study, found),
    ]
    return (
        f"Protocol A. `{HOLDS}` and `{FAILS}`: a sign test at {LEVEL:g}, or a plain comparison where there is one number; "
        f"`{OPEN}`: neither. The growth with n (figure 6), the memory (Table V) and the segmentations (figure 7) are "
        "judged on their pages.\n\n" + markdown(rows, ("claim", "verdict", "numbers"))
    )


def judged(signs: Signs) -> str:
    """What a sign test says of "the first is lower"."""
    if signs.p >= LEVEL:
        return OPEN
    return HOLDS if signs.wins > signs.losses else FAILS


def _row(claim: str, verdict: str, numbers: object) -> dict[str, Any]:
    return {"claim": claim, "verdict": verdict, "numbers": str(numbers)}


def _better(study: Study, found: Found) -> list[dict[str, Any]]:
    rows = []
    for ours in LD:
        for rival in RIVALS:
            pairs, names = [], []
            for name, parameter in study.cells(10**9):
                pair = error_of(found, name, parameter, ours), error_of(found, name, parameter, rival)
                if pair[0] is not None and pair[1] is not None:
                    pairs.append((pair[0], pair[1]))
                    names.append(name)
            claim = f"{ours} has lower errors than {rival}"
            if not pairs:
                rows.append(_row(claim, UNTESTED, ""))
                continue
            a, b = zip(*pairs, strict=True)
            signs = sign_test(a, b)
            rows.append(_row(claim, judged(signs), f"{signs}; difference {paired_bootstrap(a, b, names)}"))
    return rows


def _lowest(study: Study, found: Found, name: str, method: str) -> float | None:
    rates = errors(found, name, reading_a(name), study.grid.grid(name), method).rates
    return min(rates, default=None)


def _by_ten(study: Study, found: Found) -> list[dict[str, Any]]:
    rows = []
    for name in ("coil20", "alphadigits"):
        claim = f"LD-SSC is better than all others by 10-15 % on {name}"
        ours = _lowest(study, found, name, EXACT_ROW)
        others = [value for method in RIVALS if (value := _lowest(study, found, name, method)) is not None]
        if ours is None or not others:
            rows.append(_row(claim, UNTESTED, ""))
            continue
        gain = min(others) - ours
        printed = min(paper.LOWEST[method][name] for method in RIVALS) - paper.LOWEST["LD-SSC1"][name]
        words = f"lowest {ours:.4f}, best other {min(others):.4f}: {gain:+.4f} (the paper's {printed:+.4f})"
        rows.append(_row(claim, HOLDS if gain >= 0.10 else FAILS, words))
    return rows


def _worsen(study: Study, found: Found) -> list[dict[str, Any]]:
    rows = []
    for method in ("NC", "RC"):
        worse, of = [], []
        for name in WORSENED:
            mean = [_mean(study, found, name, rule) for rule in (method, "NO")]
            if mean[0] is not None and mean[1] is not None:
                of.append(name)
                worse += [name] if mean[0] > mean[1] else []
        verdict = UNTESTED if not of else HOLDS if worse == of else FAILS
        words = f"higher mean error on {len(worse)} of {len(of)}: {', '.join(worse) or 'none'}"
        rows.append(_row(f"{method} is worse than no normalisation on {', '.join(WORSENED)}", verdict, words))
    return rows


def _mean(study: Study, found: Found, name: str, method: str) -> float | None:
    rates = errors(found, name, reading_a(name), study.grid.grid(name), method).rates
    return sum(rates) / len(rates) if rates else None


def _fsc_on_lung(study: Study, found: Found) -> dict[str, Any]:
    claim = "FSC has a high error at some parameters on Lung, LD-SSC has not"
    fsc, exact = (
        errors(found, "lung", reading_a("lung"), study.grid.grid("lung"), m).rates for m in ("FSC", EXACT_ROW)
    )
    if not fsc or not exact:
        return _row(claim, UNTESTED, "")
    words = f"FSC {min(fsc):.4f} to {max(fsc):.4f}, {EXACT_ROW} {min(exact):.4f} to {max(exact):.4f}"
    return _row(claim, HOLDS if max(fsc) > max(exact) + 0.05 else FAILS, words)


def _stable(study: Study, found: Found) -> list[dict[str, Any]]:
    rows = []
    for rival in RIVALS:
        a, b = [], []
        for name in study.sets:
            grid, reading = study.grid.grid(name), reading_a(name)
            spreads = [errors(found, name, reading, grid, method).rates for method in (EXACT_ROW, rival)]
            if all(len(rates) == len(grid) > 1 for rates in spreads):
                a.append(float(np.std(spreads[0])))
                b.append(float(np.std(spreads[1])))
        claim = f"{EXACT_ROW} varies less over the kernel parameter than {rival}"
        if not a:
            rows.append(_row(claim, UNTESTED, ""))
            continue
        signs = sign_test(a, b)
        rows.append(_row(claim, judged(signs), f"standard deviations of {len(a)} sets: {signs}"))
    return rows


def _same(study: Study, found: Found) -> dict[str, Any]:
    claim = "LD-SSC1 and LD-SSC2 have the same errors (within .005), after the paper's iterations"
    gaps = []
    for name, parameter in study.cells(10**9):
        pair = error_of(found, name, parameter, "LD-SSC1"), error_of(found, name, parameter, "LD-SSC2")
        if pair[0] is not None and pair[1] is not None:
            gaps.append(abs(pair[0] - pair[1]))
    if not gaps:
        return _row(claim, UNTESTED, "")
    close = sum(gap <= 0.005 for gap in gaps)
    words = f"{close} of {len(gaps)} cells; median difference {np.median(gaps):.4f}, largest {max(gaps):.4f}"
    return _row(claim, HOLDS if close == len(gaps) else FAILS, words)


def tasks(study: Study) -> list[Task]:
    """The cells of figures 4 and 5."""
    return [*figure4.plan(study.request).tasks, *figure5.plan(study.request).tasks]


def _line(study: Study, found: Found) -> dict[str, Any]:
    claim = "LD-SSC aligns the points of Leukemia and Lung along a line, the others do not (figure 4)"
    rows = [
        row for task in figure4.plan(study.request).tasks if task.key in found for row in found[task.key].record["rows"]
    ]
    if not rows:
        return _row(claim, UNTESTED, "")
    share = {method: min(r["line"] for r in rows if r["panel"] == method) for method in ("FSC", "RC", EXACT_ROW)}
    words = ", ".join(f"{method} {value:.4f}" for method, value in share.items())
    alone = share[EXACT_ROW] > 0.999 > max(share["FSC"], share["RC"])
    return _row(claim, HOLDS if alone else FAILS, f"least share of the variance on a line: {words}")


def _overlap(study: Study, found: Found) -> list[dict[str, Any]]:
    cells = [found[task.key] for task in figure5.plan(study.request).tasks if task.key in found]
    rows = []
    for cell in cells:
        own = {row["matrix"]: row for row in cell.record["rows"]}
        claim = f"less overlap between classes of {own['FSC']['dataset']} under LD-SSC than under FSC (figure 5)"
        both = [own[method]["within, off the diagonal"] for method in (EXACT_ROW, "FSC")]
        if None in both:
            rows.append(_row(claim, OPEN, "one of the two matrices is the identity"))
            continue
        words = f"mass within classes, off the diagonal: {EXACT_ROW} {both[0]:.4f}, FSC {both[1]:.4f}"
        verdict = OPEN if abs(both[0] - both[1]) < 0.005 else HOLDS if both[0] > both[1] else FAILS
        rows.append(_row(claim, verdict, words))
    return rows or [_row("less overlap between classes under LD-SSC than under FSC (figure 5)", UNTESTED, "")]


def _faster(study: Study, found: Found) -> list[dict[str, Any]]:
    """Seconds at the fixed parameter; the conic solver's are those of its own tolerance."""
    bundle = table4.conic_bundle(table4.timings(study.request)[0])
    rows = []
    for ours in LD:
        ratios = []
        for name in study.sets:
            where = (found, name, reading_a(name), fixed_parameter(name))
            conic, own = record_of(*where, bundle.methods[0].name, bundle), record_of(*where, ours)
            if conic is not None and own is not None:
                ratios.append(conic["seconds"] / own["seconds"])
        claim = f"{ours} is faster than CVX-SSC (here CVXPY with SCS)"
        words = f"{min(ratios):.3g} to {max(ratios):.3g} times on {len(ratios)} sets" if ratios else ""
        rows.append(_row(claim, UNTESTED if not ratios else HOLDS if min(ratios) > 1 else FAILS, words))
    return rows
