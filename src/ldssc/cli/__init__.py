"""The command line. Typer and Rich are imported inside `main`: a missing one is a sentence, not a traceback."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from ldssc.exceptions import MissingExtraError, require


def main(argv: Sequence[str] | None = None) -> int:
    """Run `ldssc` with these arguments, or the process's own; the exit code is returned."""
    try:
        for module in ("typer", "rich"):
            require(module, "cli")
        from ldssc.cli.app import run
    except MissingExtraError as error:
        print(f"ldssc: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:  # while the parts are being loaded
        return 130
    return run(sys.argv[1:] if argv is None else argv)
