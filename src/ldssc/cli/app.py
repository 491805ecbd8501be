"""All commands in one application, and what becomes of what goes wrong in them."""

from __future__ import annotations

import contextlib
import sys
import traceback
import warnings
from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import numpy as np
import typer

from ldssc import __version__
from ldssc.cli import console
from ldssc.cli.certify import certify
from ldssc.cli.cluster import cluster
from ldssc.cli.data import data
from ldssc.cli.demo import demo
from ldssc.cli.project import project
from ldssc.cli.reproduce import reproduce
from ldssc.cli.segment import segment
from ldssc.exceptions import InputError

#: 0 and 1 come from the commands: proven to the tolerance, or written without that.
BAD_INPUT, BUG, INTERRUPTED = 2, 70, 130

app = typer.Typer(
    name="ldssc",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 done and proven to the tolerance; 1 written, not proven to it; 2 the input cannot be used.",
)
for command in (demo, cluster, project, certify, segment, reproduce):
    app.command()(command)
app.add_typer(data)


def _show_version(wanted: bool) -> None:
    if wanted:
        console.say(f"ldssc {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _main(
    context: typer.Context,
    _version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and leave.")
    ] = False,
) -> None:
    """Spectral clustering on the nearest doubly stochastic, positive semidefinite affinity matrix, with a proof."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def run(argv: Sequence[str]) -> int:
    """One command: its exit code, and one sentence on stderr instead of an exception."""
    console.prepare()
    try:
        with _warnings_as_lines():
            code = app(args=list(argv), prog_name="ldssc", standalone_mode=False)
            if code == INTERRUPTED:  # some versions of Typer turn Ctrl-C into this number
                raise KeyboardInterrupt
    except _USAGE as error:
        return _fail(f"{_one_line(error.format_message()).rstrip('.')} (see ldssc --help)")
    except (InputError, np.linalg.LinAlgError) as error:
        return _fail(str(error))
    except BrokenPipeError:  # the reader of our output has left
        console.mute()
        return 1
    except MemoryError as error:
        return _fail(f"out of memory ({error or 'no detail given'}); use fewer rows, or a machine with more")
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        return _fail(f"{place}{error.strerror or error}")
    except (KeyboardInterrupt, typer.Abort):
        console.complain("interrupted before there was anything to write")
        return INTERRUPTED
    except Exception:
        traceback.print_exc()
        console.complain("this is a fault in ldssc, not in your input; please report it with the lines above")
        return BUG
    return code if isinstance(code, int) else 0


def _click_exception() -> Any:
    """What Typer raises for a wrong option; some versions bring their own Click, so it has no fixed place."""
    return next(base for base in typer.BadParameter.__mro__ if base.__name__ == "ClickException")


_USAGE = _click_exception()


def _fail(sentence: str) -> int:
    console.complain(_one_line(sentence))
    return BAD_INPUT


def _one_line(text: str) -> str:
    return " ".join(text.split())


@contextlib.contextmanager
def _warnings_as_lines() -> Iterator[None]:
    """The library's warnings, each as one line, once; those about its dependencies are not for the user."""

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        console.warn(_one_line(str(message)))

    with warnings.catch_warnings():
        warnings.simplefilter("default")
        for category in (DeprecationWarning, PendingDeprecationWarning, FutureWarning, ResourceWarning, ImportWarning):
            warnings.simplefilter("ignore", category)
        warnings.showwarning = show
        yield


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
