"""python -m ldssc."""

from __future__ import annotations

import sys

from ldssc.cli import main

if __name__ == "__main__":
    sys.exit(main())
