"""``btflow completion``: a shell completes commands, options, and names of models and their parameters."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from copy import copy
from importlib.resources import files
from textwrap import shorten
from typing import Annotated, get_type_hints

import typer
from typer.completion import get_completion_script  # type: ignore[attr-defined]  # it is there without being declared

from btflow.errors import InputError, unknown

_SHELLS = ("bash", "zsh", "fish")
_WIDTH = 70
"""Longest meaning of a parameter: Typer breaks lines at 80 columns, and a shell takes the second line for a name."""
_FOLDERS = {"flow": "congestion", "voip": "codecs", "access": "access"}
_WORDS = {
    "aqm": ["drop-tail", "codel", "fq-codel", "pie", "cake"],
    "shaper": ["line", "tbf", "htb"],
    "fidelity": ["full", "flow"],
    "shell": list(_SHELLS),
}
"""Of parameters of commands: the folder of ``models/`` that has what they name, or the words that they take."""


def completion(shell: Annotated[str, typer.Argument(metavar="SHELL", help="bash, zsh or fish.")]) -> None:
    """Print what makes a shell complete btflow's commands, options, models and parameters."""
    if shell not in _SHELLS:
        raise unknown(shell, _SHELLS, "shell with completion", "SHELL")
    if shell == "fish":
        typer.echo(get_completion_script(prog_name="btflow", complete_var="_BTFLOW_COMPLETE", shell=shell))
    else:
        typer.echo((files("btflow.cli") / f"completion.{shell}").read_text(encoding="utf-8"), nl=False)


def completed(command: Callable[..., None], folders: Sequence[str] = ()) -> Callable[..., None]:
    """Return a command whose parameters are completed; its model by the names in some folders of ``models/``."""
    hints = get_type_hints(command, include_extras=True)
    for name in hints.keys() & {"model", "settings", "vary", *_FOLDERS, *_WORDS}:
        option = copy(hints[name].__metadata__[0])  # commands share some
        option.autocompletion = _settings if name in ("settings", "vary") else _words(name, folders)
        hints[name] = Annotated[hints[name].__origin__, option]
    command.__annotations__ = hints
    return command


def _words(name: str, folders: Sequence[str]) -> Callable[[], list[str]]:
    def words() -> list[str]:
        from btflow.config.catalog import names

        of = folders if name == "model" else [_FOLDERS[name]] if name in _FOLDERS else []
        return _WORDS.get(name, [found for folder in of for found in names(folder)])

    return words


def _settings(incomplete: str) -> list[tuple[str, str]]:
    """Return the parameters of the model that is on the command line, each with ``=`` and its meaning, or its words."""
    from btflow.config.catalog import any_document, names

    line = os.environ.get("COMP_WORDS") or os.environ.get("_TYPER_COMPLETE_ARGS", "")  # Typer has no model behind --set
    models = [word for word in line.split() if word in (*names("swarms"), *names("links")) or word.endswith(".toml")]
    try:
        of = any_document(models[0])
    except (IndexError, InputError):  # there is none, or the command reports the error
        return []
    known = of.parameters
    name, given, _ = incomplete.partition("=")
    if given and name in known:
        folder = of.kind.folder_of(known[name].sets[0].split("."))
        words = {"flag": ["true", "false"], "file": names(folder) if folder else []}.get(known[name].kind)
        return [(f"{name}={word}", "") for word in words or known[name].words]
    return [(f"{name}=", shorten(p.meaning, _WIDTH, placeholder="...")) for name, p in known.items()]
