"""An outside auditor: it knows (12a) and shares no code with the library. It judges arrays with NumPy alone.

    (12a)  for feasible F, with G = K + u1ᵀ + 1uᵀ + Q + Z, a = ‖F − G‖ and c = ⟨F, Q⟩ + ⟨F, Z⟩:
           ‖F − F*‖ ≤ (a + √(a² + 4c))/2

Where F, Q or Z miss their sets, even by rounding, the auditor pays: F is made feasible first and the way is added, and
what Q and Z lack of their cones enters c. Sums are taken in extended precision. So the figure it gives is a bound by
itself; it only has the rounding of the eigenvalues, and of entries within one block of rows, against it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[np.float64]]
CONFIRMED = 2.0  # the auditor must find the claim within this factor
ROUNDING = 1e-11  # in a row sum, an entry or an eigenvalue
_BLOCK = 200


@dataclass(frozen=True)
class Audit:
    """What was found: how far F is from feasible, how far Q and Z are from multipliers, and (12a)/‖F‖."""

    row_sum: float
    negativity: float
    indefiniteness: float
    asymmetry: float
    q_negativity: float
    z_indefiniteness: float
    distance: float

    @property
    def feasible(self) -> bool:
        """F is doubly stochastic and semidefinite, to rounding."""
        return max(self.row_sum, self.negativity, self.indefiniteness, self.asymmetry) <= ROUNDING

    @property
    def valid(self) -> bool:
        """Q ≥ 0 exactly; Z ⪰ 0 to the rounding of its size."""
        return self.q_negativity == 0 and self.z_indefiniteness <= 1e-12

    def confirms(self, claim: float) -> bool:
        """Whether a claimed distance stands: a feasible F, and the same bound within a factor of two."""
        return self.feasible and self.valid and bool(self.distance <= CONFIRMED * claim)


def audit(F: Any, K: Any, u: Any, Q: Any, Z: Any) -> Audit:
    """Judge an answer from scratch."""
    F, K, u, Q, Z = (np.asarray(part, dtype=np.float64) for part in (F, K, u, Q, Z))
    asymmetry = max(float(np.abs(B - B.T).max()) for B in (F, Q, Z))
    rows = np.abs(row_sums(F) - 1).max()
    lowest_f, lowest_z = np.linalg.eigvalsh(F)[0], np.linalg.eigvalsh(Z)[0]
    q_negativity, z_indefiniteness = max(0.0, -Q.min()), max(0.0, -lowest_z)
    feasible = closest_feasible(F, float(lowest_f))
    a, c = parts_of_bound(feasible, K, u, Q, Z)
    # ⟨F*, Q⟩ ≥ −q·sum F* and ⟨F*, Z⟩ ≥ −z·tr F*; both sums are at most n
    c += len(F) * (q_negativity + z_indefiniteness)
    moved = float(np.linalg.norm(F - feasible))
    size = float(np.linalg.norm(F))
    return Audit(
        row_sum=float(rows),
        negativity=max(0.0, -float(F.min())),
        indefiniteness=max(0.0, -float(lowest_f)),
        asymmetry=asymmetry,
        q_negativity=float(q_negativity),
        z_indefiniteness=float(z_indefiniteness) / (1 + float(np.linalg.norm(Z))),
        distance=float((a + np.sqrt(a * a + 4 * c)) / 2 + moved) / size if size > 0 else np.inf,
    )


def closest_feasible(F: Array, lowest: float) -> Array:
    """F, symmetric, with its rows mended on the diagonal, mixed with 11ᵀ/n for its signs and with I for its eigenvalues."""
    n = len(F)
    G = (F + F.T) / 2
    G[np.diag_indices(n)] += 1 - row_sums(G)
    if (negative := -float(G.min())) > 0:
        t = n * negative / (1 + n * negative)
        G = (1 - t) * G + t / n
    if np.linalg.norm(F - G) > ROUNDING:
        lowest = float(np.linalg.eigvalsh(G)[0])
    if lowest < 0:
        t = -lowest / (1 - lowest)
        G *= 1 - t
        G[np.diag_indices(n)] += t
    return G


def parts_of_bound(F: Array, K: Array, u: Array, Q: Array, Z: Array) -> tuple[float, float]:
    """a and c of (12a), with |2uᵀ(F1 − 1)| in c: sums over blocks of rows, in extended precision."""
    wide = np.longdouble
    a2, c, rows = wide(0), wide(0), wide(0)
    for start in range(0, len(F), _BLOCK):
        part = slice(start, start + _BLOCK)
        f, q, z = F[part].astype(wide), Q[part].astype(wide), Z[part].astype(wide)
        a2 += ((f - (K[part].astype(wide) + u[part, None] + u[None, :] + q + z)) ** 2).sum()
        c += (f * q).sum() + (f * z).sum()
        rows += (u[part].astype(wide) * (f.sum(axis=1) - 1)).sum()
    return float(np.sqrt(a2)), float(max(c, wide(0)) + 2 * abs(rows))


def row_sums(F: Array) -> Array:
    """F1, in extended precision on the way."""
    return np.asarray(F.sum(axis=1, dtype=np.longdouble), dtype=np.float64)
