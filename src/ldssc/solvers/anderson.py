"""Anderson acceleration of a fixed-point iteration on symmetric matrices."""

from __future__ import annotations

import numpy as np
import scipy.linalg as la

from ldssc.validation import Matrix

_REGULARISATION = 1e-8


class Anderson:
    """Type-II Anderson acceleration of W ← W + R(W), remembering the last differences of W and R in single precision."""

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
                self._changes, self._residuals = np.empty((2, self.memory, self.n * self.n), np.float32)
            k = self._count % self.memory
            np.subtract(W.ravel(), self._last[0].ravel(), out=self._changes[k], casting="same_kind")
            np.subtract(R.ravel(), self._last[1].ravel(), out=self._residuals[k], casting="same_kind")
            self._count += 1
            m = min(self._count, self.memory)
            self._products[k, :m] = self._products[:m, k] = self._residuals[:m] @ self._residuals[k]
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
        g = np.linalg.solve(H, scale * (self._residuals[:m] @ (R / scale).astype(np.float32).ravel()) / d) / d
        if not np.isfinite(g).all():
            return step
        weights = g.astype(np.float32)
        step -= (weights @ self._changes[:m] + weights @ self._residuals[:m]).reshape(W.shape)
        return np.asarray((step + step.T) / 2)
