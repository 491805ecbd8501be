"""BLAS threads: one for small matrices, where a second costs more than it brings; else the caller's choice."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache

from threadpoolctl import ThreadpoolController

#: Below this size one thread is at least as fast (benchmarks/threads.py).
ONE_THREAD_BELOW = 500


@lru_cache(maxsize=1)
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


def threads_for(n: int) -> AbstractContextManager[object]:
    """A context in which BLAS uses one thread if n x n matrices are small; it leaves no trace behind."""
    return _controller().limit(limits=1, user_api="blas") if n < ONE_THREAD_BELOW else nullcontext()
