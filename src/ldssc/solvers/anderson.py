"""Anderson acceleration of a fixed-point iteration on symmetric matrices."""

from __future__ import annotations

import numpy as np
import scipy.linalg as la

from ldssc.kernels import pack, subtract_packed
from ldssc.validation import Matrix, Vector

_REGULARISATION = 1e-8


class Anderson:
    """Type-II Anderson acceleration of W ← W + R(W), remembering the last differences of W and R in single precision.

    Of a symmetric matrix the upper triangle is kept: a remembered pair costs half an array of n² doubles.
    """

    def __init__(self, n: int, memory: int) -> None:
        self.n, self.memory = n, memory
        self._products = np.zeros((memory, memory))
        self.forget()

    def forget(self) -> None:
        """Start over, and give the memory back."""
        self._count = 0
        self._changes = self._residuals = np.empty((0, 0), np.float32)
        self._last: tuple[Matrix, Matrix] | None = None

    def _remember(self, W: Matrix, R: Matrix) -> int:
        """Put the last differences in the place of the oldest; how many there are."""
        if self._last is not None:
            if not self._count:
                self._changes, self._residuals = np.empty((2, self.memory, self.n * (self.n + 1) // 2), np.float32)
            k = self._count % self.memory
            self._changes[k] = pack(self.n, W - self._last[0])
            self._residuals[k] = pack(self.n, R - self._last[1])
            self._count += 1
            m = min(self._count, self.memory)
            self._products[k, :m] = self._products[:m, k] = 2 * (self._residuals[:m] @ self._residuals[k])
        self._last = W, R
        return min(self._count, self.memory)

    def step(self, W: Matrix, R: Matrix) -> Matrix:
        """W + R, less the combination of remembered steps that would have made the residual smallest."""
        m, scale, step = self._remember(W, R), float(la.norm(R)), W + R
        if not m or scale == 0:
            return step
        H = self._products[:m, :m]
        d = np.sqrt(H.diagonal()) + 1e-6 * scale  # where W drifts, R does not change: no long leaps
        H = H / d[:, None] / d[None, :] + _REGULARISATION * np.eye(m)
        try:
            g = np.linalg.solve(H, scale * (2 * (self._residuals[:m] @ pack(self.n, R / scale))) / d) / d
        except np.linalg.LinAlgError:  # products in single precision may cancel what regularises them
            return step
        if np.isfinite(g).all():
            subtract_packed(self.n, self._combined(g.astype(np.float32)), step)
        return step

    def _combined(self, weights: Vector) -> Vector:
        m = len(weights)
        return np.asarray(weights @ self._changes[:m] + weights @ self._residuals[:m])
