"""Tables and the figure from the rows of the study; the score is chosen on one half of the sets and judged on the other."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import rankdata, spearmanr

RIGHT = 0.1
OF_THE_SET = ("tightness", "gap of G", "eigengap", "gap statistic")
OF_LABELS = ("tightness x agreement", "agreement", "silhouette", "Davies-Bouldin", "Calinski-Harabasz", "stability")
OURS = ("tightness", "gap of G", "tightness x agreement")
BINS = ((0.995, 1.01), (0.95, 0.995), (0.90, 0.95), (0.85, 0.90), (0.0, 0.85))
TOOLS = ("relaxation", "spectral", "k-means")
Row = dict[str, Any]


def auc(score: np.ndarray[Any, Any], good: np.ndarray[Any, Any]) -> float:
    """The chance that a right one scores higher than a wrong one; ties count half."""
    n, m = int(good.sum()), int((~good).sum())
    if n == 0 or m == 0:
        return float("nan")
    return float((rankdata(score)[good].sum() - n * (n + 1) / 2) / (n * m))


def interval(score: np.ndarray[Any, Any], good: np.ndarray[Any, Any]) -> tuple[float, float]:
    """Of the AUC, 95 %, by resampling sets."""
    rng = np.random.default_rng(0)
    draws = []
    for _ in range(2000):
        rows = rng.integers(0, len(score), len(score))
        draws.append(auc(score[rows], good[rows]))
    low, high = np.nanquantile(draws, [0.025, 0.975])
    return float(low), float(high)


def column(rows: list[Row], tool: str, score: str) -> np.ndarray[Any, Any]:
    return np.array([row["scores"][score] if score in OF_THE_SET else row["tools"][tool][score] for row in rows])


def errors(rows: list[Row], tool: str) -> np.ndarray[Any, Any]:
    return np.array([row["tools"][tool]["error"] for row in rows])


def write(everything: list[Row], out: Path) -> None:
    """summary.md, scores.csv and trust.png."""
    rows = sorted((row for row in everything if "set" in row), key=lambda row: row["set"])
    nulls = [row for row in everything if "null" in row]
    halves = {"A": rows[::2], "B": rows[1::2]}
    lines = [
        "# Does a score foretell that labels are right?",
        "",
        f"{len(rows)} data sets, at most 300 points of each, standardised, k given. Right: error below {RIGHT}.",
        "Half A (every other set by name) was there to choose the score on, half B was held out. AUC: chance that a right",
        "labelling scores above a wrong one.",
        "",
    ]
    for tool in TOOLS:
        lines += _auc_table(halves, tool)
    lines += _chosen(halves)
    lines += _calibration(rows)
    lines += _null_table(nulls)
    lines += _cost(rows)
    (out / "summary.md").write_text("\n".join(lines) + "\n")
    _write_csv(rows, out / "scores.csv")
    _draw(rows, nulls, out / "trust.png")
    print("\n".join(lines))


def _auc_table(halves: dict[str, list[Row]], tool: str) -> list[str]:
    both = [*halves["A"], *halves["B"]]
    right = {half: int((errors(rows, tool) < RIGHT).sum()) for half, rows in halves.items()}
    lines = [
        f"## Labels of {tool} (right on {right['A']} of {len(halves['A'])} in A, {right['B']} of {len(halves['B'])} in B)",
        "",
        "| score | AUC, A | AUC, B (held out) | both | 95 % | Spearman with the error |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for score in (*OF_THE_SET, *OF_LABELS):
        cells = [
            auc(column(rows, tool, score), errors(rows, tool) < RIGHT) for rows in (halves["A"], halves["B"], both)
        ]
        low, high = interval(column(both, tool, score), errors(both, tool) < RIGHT)
        value = column(both, tool, score)
        rank = float(spearmanr(value, errors(both, tool)).statistic) if np.ptp(value) > 0 else float("nan")
        lines.append(
            f"| {score} | {cells[0]:.2f} | {cells[1]:.2f} | {cells[2]:.2f} | {low:.2f}-{high:.2f} | {rank:.2f} |"
        )
    return [*lines, ""]


def _chosen(halves: dict[str, list[Row]]) -> list[str]:
    lines = ["## Chosen on A, judged on B", ""]
    for tool in TOOLS:
        by = {score: auc(column(halves["A"], tool, score), errors(halves["A"], tool) < RIGHT) for score in OURS}
        best = max(by, key=lambda score: by[score])
        held = auc(column(halves["B"], tool, best), errors(halves["B"], tool) < RIGHT)
        other = {
            score: auc(column(halves["A"], tool, score), errors(halves["A"], tool) < RIGHT)
            for score in (*OF_THE_SET, *OF_LABELS)
            if score not in (*OURS, "agreement")
        }
        rival = max(other, key=lambda score: other[score])
        theirs = auc(column(halves["B"], tool, rival), errors(halves["B"], tool) < RIGHT)
        lines.append(
            f"- {tool}: of ours, {best} (A {by[best]:.2f}) has {held:.2f} on B; of others, {rival} (A {other[rival]:.2f}) "
            f"has {theirs:.2f} on B."
        )
    return [*lines, ""]


def _calibration(rows: list[Row]) -> list[str]:
    lines = [
        "## Calibration",
        "",
        "| tightness | sets | mean error: relaxation | spectral | k-means | right: relaxation |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    value = column(rows, "relaxation", "tightness")
    for low, high in BINS:
        inside = [row for row, v in zip(rows, value, strict=True) if low <= v < high]
        means = [f"{errors(inside, tool).mean():.3f}" if inside else "–" for tool in TOOLS]
        right = int((errors(inside, "relaxation") < RIGHT).sum()) if inside else 0
        lines.append(
            f"| {low:.3f}-{min(high, 1):.3f} | {len(inside)} | {' | '.join(means)} | {right} of {len(inside)} |"
        )
    doubtful = [row["set"] for row in rows if not row["reliable"]]
    lines += ["", f"Marked as unreliable (tiny groups remain): {', '.join(doubtful) or 'none'}."]
    wrong = [
        f"{row['set']} ({row['scores']['tightness']:.2f}, error {row['tools']['relaxation']['error']:.2f})"
        for row in rows
        if row["scores"]["tightness"] >= 0.95 and row["tools"]["relaxation"]["error"] >= RIGHT
    ]
    missed = [
        f"{row['set']} ({row['scores']['tightness']:.2f}, error {row['tools']['relaxation']['error']:.2f})"
        for row in rows
        if row["scores"]["tightness"] < 0.90 and row["tools"]["relaxation"]["error"] < RIGHT
    ]
    lines += [
        f"Tight (.95) and wrong: {', '.join(wrong) or 'none'}. Loose (below .90) and right: {', '.join(missed) or 'none'}.",
        "",
    ]
    return lines


def _null_table(nulls: list[Row]) -> list[str]:
    lines = [
        "## Data without clusters, 300 points, k = 2, 3, 4, 6, 8",
        "",
        "| data | dimensions | tightness |",
        "| --- | --- | --- |",
    ]
    for kind, d in sorted({(row["null"], row["d"]) for row in nulls}):
        values = [row["tightness"] for row in nulls if (row["null"], row["d"]) == (kind, d) and row["reliable"]]
        left = sum(1 for row in nulls if (row["null"], row["d"]) == (kind, d) and not row["reliable"])
        shown = f"{min(values):.2f}-{max(values):.2f}" if values else "–"
        lines.append(f"| {kind} | {d} | {shown}{f' ({left} more marked as unreliable)' if left else ''} |")
    return [*lines, ""]


def _cost(rows: list[Row]) -> list[str]:
    names = sorted(rows[0]["seconds"])
    lines = [
        "## Cost, seconds of one core, median and largest over the sets",
        "",
        "| score | median | largest |",
        "| --- | --- | --- |",
    ]
    for name in names:
        seconds = [row["seconds"][name] for row in rows]
        per = len(TOOLS) if name in OF_LABELS else 1
        lines.append(f"| {name} | {np.median(seconds) / per:.3f} | {max(seconds) / per:.2f} |")
    return lines


def _write_csv(rows: list[Row], path: Path) -> None:
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["set", "n", "d", "k", "tool", "error", *OF_THE_SET, *OF_LABELS])
        for row in rows:
            for tool in TOOLS:
                scores = [column([row], tool, score)[0] for score in (*OF_THE_SET, *OF_LABELS)]
                cells = [f"{value:.6g}" for value in (row["tools"][tool]["error"], *scores)]
                writer.writerow([row["set"], row["n"], row["d"], row["k"], tool, *cells])


def _draw(rows: list[Row], nulls: list[Row], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained", sharey=True)
    for axis, score, name in (
        (left, "tightness", "tightness of the relaxation (23)"),
        (right, "silhouette", "silhouette"),
    ):
        axis.scatter(column(rows, "relaxation", score), errors(rows, "relaxation"), s=22, color="#1f5f8b", zorder=3)
        axis.axhline(RIGHT, color="0.7", lw=0.8)
        axis.set_xlabel(name)
        axis.spines[["top", "right"]].set_visible(False)
        value = auc(column(rows, "relaxation", score), errors(rows, "relaxation") < RIGHT)
        axis.set_title(f"AUC {value:.2f} for an error below {RIGHT}", fontsize=10)
    without = [row["tightness"] for row in nulls if row["reliable"]]
    if without:
        left.axvspan(min(without), max(without), color="#d9822b", alpha=0.15, lw=0, label="data without clusters")
        left.legend(frameon=False, fontsize=9, loc="lower left")
    left.set_ylabel("error of the partition of the relaxation")
    figure.savefig(path, dpi=130)
    plt.close(figure)
