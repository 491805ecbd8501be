"""What can go wrong, as types: every message says what is wrong, where, and what to do."""

from __future__ import annotations

import importlib
from types import ModuleType


class InputError(ValueError):
    """The input cannot be used: the message names the fault, its place and a remedy."""


class NotEnoughMemoryError(InputError, MemoryError):
    """A forecast says that the run will not fit: needed, present, and what does fit."""


class MissingExtraError(InputError, ImportError):
    """An optional part of the library is not installed: the message holds the line that installs it."""


def require(module: str, extra: str) -> ModuleType:
    """Import an optional dependency, or say which line installs it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtraError(
            f"this needs {module.split('.')[0]}, which is not installed; install it with: pip install 'ldssc[{extra}]'"
        ) from error
