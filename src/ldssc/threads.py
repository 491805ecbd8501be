"""Threads: BLAS gets one for small matrices, where a second costs more than it brings, else the caller's choice; what we
share out ourselves gets as many as BLAS may use.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache
from typing import TypeVar

from threadpoolctl import ThreadpoolController

#: Below this size one thread is at least as fast (benchmarks/threads.py).
ONE_THREAD_BELOW = 500
#: Below this size passes over a matrix are not shared out.
_SHARED_FROM = 2000

_Part = TypeVar("_Part")
_Answer = TypeVar("_Answer")


@lru_cache(maxsize=1)
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


def threads_for(n: int) -> AbstractContextManager[object]:
    """A context in which BLAS uses one thread if n x n matrices are small; it leaves no trace behind."""
    return _controller().limit(limits=1, user_api="blas") if n < ONE_THREAD_BELOW else nullcontext()


def budget() -> int:
    """As many threads as the caller lets BLAS use."""
    counts = [library.num_threads for library in _controller().lib_controllers if library.user_api == "blas"]
    return max(counts, default=1)


def in_threads(n: int, work: Callable[[_Part], _Answer], parts: Sequence[_Part]) -> list[_Answer]:
    """The answers of `work`, in order; shared out within the budget if n x n matrices are large."""
    count = min(budget(), len(parts)) if n >= _SHARED_FROM else 1
    if count == 1:
        return [work(part) for part in parts]
    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(work, parts))
