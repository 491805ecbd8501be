"""Write cases.npz: 100 matrices K (n = 2 to 12) with the exact solution F of problem (1) and its multipliers.

    python tests/exact/make_cases.py [file]          needs mpmath and clarabel; fixed seed, one core, seconds

For each K of draws.py:
1. Clarabel solves (1) in float64.
2. The active face is read off: A, the pairs with F_ij = 0 and Q_ij > 0, and r, the rank of Z.
3. With F = K + u1' + 1u' + Q + VV' (2), Q on A and V of size n x r, the equations F1 = 1, F_ij = 0 on A and FV = 0
   are solved by Newton's method in 100 digits. Steps are least-norm (V may rotate, multipliers may be non-unique);
   the Jacobian and its pseudo-inverse are float64, so a step gains about 12 digits instead of doubling them.
4. The point is checked in 100 digits: rows, signs of F and Q, smallest eigenvalue of F, complementarity, stationarity.
   The distance to the true F* is bounded as in (12a), after a repair of F to a feasible matrix. A draw enters only if
   every residual is below 1e-60 and the distance below 1e-30; otherwise other faces are tried, then another draw.
5. F, u, Q and Z are stored as float64 plus a float64 correction ("_low"): about 32 digits.

The residuals of step 4 go in as well, in the order of RESIDUALS. F is unique; where the multipliers are not, one
choice is stored. Two runs with the same versions write the same bytes; other versions may differ near the 32nd digit.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import clarabel
import mpmath as mp
import numpy as np
from draws import CLASSES, Array
from scipy import sparse
from threadpoolctl import threadpool_limits

SEED = 20260
DIGITS = 100
RESIDUALS = ("stationarity", "row_sum", "negative_F", "negative_Q", "indefinite_F", "F_dot_Q", "F_dot_Z", "distance")
ZERO, ONE = mp.mpf(0), mp.mpf(1)
to_mp = np.frompyfunc(mp.mpf, 1, 1)
to_abs = np.frompyfunc(abs, 1, 1)
Solution = dict[str, Any]
Face = tuple[Array, int]


def solve_roughly(K: Array) -> tuple[Array, Array, Array, Array]:
    """F, u, Q, Z of (1) by Clarabel, on the scaled upper triangle x of F."""
    n = len(K)
    j, i = np.tril_indices(n)  # column-major upper triangle, i <= j
    weight = np.where(i == j, 1.0, np.sqrt(2.0))
    m = len(i)
    sums = np.zeros((n, m))  # row sums of F from x
    sums[i, np.arange(m)] = sums[j, np.arange(m)] = 1 / weight
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-13
    cones = [clarabel.ZeroConeT(n), clarabel.NonnegativeConeT(m), clarabel.PSDTriangleConeT(n)]
    A = sparse.vstack([sparse.csc_matrix(sums), -sparse.eye(m), -sparse.eye(m)], format="csc")
    b = np.concatenate([np.ones(n), np.zeros(2 * m)])
    answer = clarabel.DefaultSolver(sparse.eye(m, format="csc"), -weight * K[i, j], A, b, cones, settings).solve()

    def square(x: Any) -> Array:
        X = np.zeros((n, n))
        X[i, j] = X[j, i] = np.asarray(x) / weight
        return X

    z = np.asarray(answer.z)
    return square(answer.x), -z[:n] / 2, square(z[n : n + m]), square(z[n + m :])


def faces(F: Array, Q: Array, Z: Array) -> Iterator[Face]:
    """Guesses of the active set (upper triangle, boolean) and of rank(Z), the likeliest first."""
    upper = np.triu(np.ones(F.shape, dtype=bool), 1)
    values, vectors = np.linalg.eigh(Z)
    opposite = np.einsum("ij,ik,kj->j", vectors, F, vectors)
    seen = set()
    sets = [F < Q] + [np.greater(Q, t) for t in (1e-5, 1e-7, 1e-4, 1e-3)] + [np.less(F, t) for t in (1e-6, 1e-4)]
    ranks = [int((values > opposite).sum())] + [int((values > t).sum()) for t in (1e-5, 1e-7, 1e-4, 1e-3)]
    for r in ranks:
        for active in sets:
            key = ((active & upper).tobytes(), r)
            if key not in seen:
                seen.add(key)
                yield active & upper, r


def primal(K: Any, u: Any, q: Any, V: Any, pairs: Any) -> tuple[Any, Any, Any]:
    """F by (2), with Q and Z = VV'; in 100 digits."""
    Q = np.full(K.shape, ZERO, dtype=object)
    Q[pairs] = q
    Q = Q + Q.T
    Z = V @ V.T if V.shape[1] else np.full(K.shape, ZERO, dtype=object)
    return K + u[:, None] + u[None, :] + Q + Z, Q, Z


def jacobian(F: Array, V: Array, pairs: Any) -> Array:
    """Derivative of (F1, F on the active pairs, FV) by (u, q, V)."""
    n, r = V.shape
    dU, dq = np.zeros((n, n, n)), np.zeros((len(pairs[0]), n, n))
    dU[np.arange(n), np.arange(n), :] = 1
    dq[np.arange(len(dq)), pairs[0], pairs[1]] = 1
    dV = np.einsum("ka,lb->klab", np.eye(n), V.T).reshape(n * r, n, n)
    half = np.concatenate([dU, dq, dV])
    dF = half + half.transpose(0, 2, 1)
    dFV = dF @ V
    dFV[n + len(dq) :] += np.einsum("ak,bl->klab", F, np.eye(r)).reshape(n * r, n, r)
    return np.concatenate([dF.sum(axis=2), dF[:, pairs[0], pairs[1]], dFV.reshape(len(dF), n * r)], axis=1).T


def polish(K: Array, start: tuple[Array, Array, Array, Array], face: Face) -> Solution | None:
    """Newton's method on the face in 100 digits; None where it does not converge."""
    _, u0, Q0, Z0 = start
    active, r = face
    n, pairs = len(K), np.nonzero(active)
    values, vectors = np.linalg.eigh(Z0)
    V0 = vectors[:, n - r :] * np.sqrt(np.maximum(values[n - r :], 0))
    Ke, u, q, V = to_mp(K), to_mp(u0), to_mp(Q0[pairs]), to_mp(V0)
    for step in range(40):
        F, Q, Z = primal(Ke, u, q, V, pairs)
        FV = F @ V if r else V
        residual = np.concatenate([F.sum(axis=1) - 1, F[pairs], FV.ravel()])
        size = float(to_abs(residual).max())
        if size < 1e-92 * max(1.0, np.abs(K).max()):
            F[pairs] = F[pairs[1], pairs[0]] = ZERO
            return {"K": Ke, "F": F, "u": u, "Q": Q, "Z": Z}
        if not np.isfinite(size) or size > 1e6 or (step > 12 and size > 1e-10):
            return None
        J = jacobian(F.astype(float), V.astype(float), pairs)
        inverse = np.linalg.pinv(J, rcond=1e-10)
        unit = mp.mpf(10) ** int(np.floor(np.log10(size)))  # keep the float64 product away from underflow
        move = to_mp(inverse @ (residual / unit).astype(float)) * unit
        u, q, V = u - move[:n], q - move[n : n + len(q)], V - move[n + len(q) :].reshape(n, r)
    return None


def smallest_eigenvalue(A: Any) -> Any:
    return min(mp.eigsy(mp.matrix(A.tolist()), eigvals_only=True))


def norm(A: Any) -> Any:
    return mp.sqrt((A * A).sum())


def distance_bound(K: Any, F: Any, u: Any, Q: Any, Z: Any, lowest: Any) -> Any:
    """A bound on |F - F*|: F is repaired to a feasible matrix, then (12a). Q >= 0 and Z = VV' hold as they are."""
    n = len(K)
    G = np.where(F > 0, F, ZERO)
    clipped = norm(G - F)
    sums = G.sum(axis=1)
    top = max(sums)
    G = (G + np.diag(top - sums)) / top
    dip = max(ZERO, clipped - lowest) + mp.mpf(10) ** (10 - DIGITS)  # margin for the eigenvalue's own error
    t = dip / (top + dip)
    G = (1 - t) * G + t * np.diag([ONE] * n)
    a = norm(G - (K + u[:, None] + u[None, :] + Q + Z))
    c = (G * Q).sum() + (G * Z).sum()
    return norm(G - F) + (a + mp.sqrt(a * a + 4 * max(c, ZERO))) / 2


def verified(solution: Solution) -> Solution | None:
    """The solution with its residuals, or None where a condition of optimality fails."""
    K, F, u, Q, Z = (solution[k] for k in ("K", "F", "u", "Q", "Z"))
    negative_F, negative_Q = max(ZERO, -F.min()), max(ZERO, -Q.min())
    if negative_F > 1e-60 or negative_Q > 1e-60:
        return None
    Q = np.where(Q > 1e-60, Q, ZERO)
    F = np.where(to_abs(F) > 1e-60, F, ZERO)
    lowest = smallest_eigenvalue(F)
    residuals = {
        "stationarity": to_abs(F - (K + u[:, None] + u[None, :] + Q + Z)).max(),
        "row_sum": to_abs(F.sum(axis=1) - 1).max(),
        "negative_F": negative_F,
        "negative_Q": negative_Q,
        "indefinite_F": max(ZERO, -lowest),
        "F_dot_Q": abs((F * Q).sum()),
        "F_dot_Z": abs((F * Z).sum()),
    }
    if max(residuals.values()) > 1e-60:
        return None
    residuals["distance"] = distance_bound(K, F, u, Q, Z, lowest)
    if residuals["distance"] > 1e-30:
        return None
    return {"F": F, "u": u, "Q": Q, "Z": Z, "residuals": [float(residuals[k]) for k in RESIDUALS]}


def as_stored(K: Array, r: int, solution: Solution) -> dict[str, Array]:
    """Each exact array as its float64 rounding plus the float64 rounding of the rest ("_low")."""
    stored = {"K": K, "rank": np.array(r), "residuals": np.array(solution["residuals"])}
    for key in ("F", "u", "Q", "Z"):
        stored[key] = solution[key].astype(float)
        stored[f"{key}_low"] = (solution[key] - to_mp(stored[key])).astype(float)
    return stored


def solve_exactly(K: Array) -> dict[str, Array] | None:
    """The arrays of one case, or None where no guess of the face leads to a verified solution."""
    start = solve_roughly(K)
    with mp.workdps(DIGITS):
        for face in faces(start[0], *start[2:]):
            solution = polish(K, start, face)
            if solution is not None and (answer := verified(solution)) is not None:
                return as_stored(K, face[1], answer)
    return None


def main(path: Path) -> None:
    begin, redraws = time.perf_counter(), 0
    known: set[bytes] = set()
    arrays: dict[str, Array] = {}
    plan = [(name, draw, n, i) for name, (draw, sizes) in CLASSES.items() for i, n in enumerate(sizes)]
    for number, (name, draw, n, i) in enumerate(plan):
        for attempt in range(50):
            label, K = draw(np.random.default_rng([SEED, number, attempt]), n)
            solution = None if K.tobytes() in known else solve_exactly(K)
            if solution is not None:
                break
            redraws += 1
        else:
            raise RuntimeError(f"no draw of {name}, n = {n}, could be solved exactly")
        known.add(K.tobytes())
        title = f"{name}/{i}-n{n}" + (f"-{label}" if label else "")
        arrays |= {f"case_{number:03d}_{key}": value for key, value in (solution | {"name": np.array(title)}).items()}
        seconds = time.perf_counter() - begin
        progress = f"{number + 1:3d}/{len(plan)}  {seconds:5.1f} s  {redraws} redraws  {title:50s}"
        print(progress, end="\r", file=sys.stderr)
    np.savez_compressed(path, **arrays)
    print(f"\n{path}: {len(plan)} cases, {path.stat().st_size:,} bytes", file=sys.stderr)


if __name__ == "__main__":
    with threadpool_limits(1):
        main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_name("cases.npz"))
