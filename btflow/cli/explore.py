"""``btflow explore``, ``btflow lab`` and ``btflow handout``: what they are given on the command line."""

import os
from pathlib import Path
from typing import Annotated, Any

import typer

from btflow.cli.common import say, takes
from btflow.errors import InputError
from btflow.explore.options import LAB_PORT, MEGABYTES, PORT, VISITORS, check_installed, options

Text = str | None

HERE = "127.0.0.1"


def _port(first: int) -> Any:
    """Return the option of the port to listen on."""
    return typer.Option(metavar="NUMBER", help=f"Port to listen on.  [{first}, or the next free one]")


Ip = Annotated[str, takes("ADDRESS", "Address to listen on; 0.0.0.0 for all.")]
NoToken = Annotated[bool, typer.Option("--no-token", help="Let in everybody who reaches the address.")]
NoBrowser = Annotated[bool, typer.Option("--no-browser", help="Do not open a browser.")]


def explore(
    port: Annotated[Text, _port(PORT)] = None,
    no_browser: NoBrowser = False,
    ip: Ip = HERE,
    no_token: NoToken = False,
    visitors: Annotated[str, takes("NUMBER", "Most visitors at once.")] = str(VISITORS),
    memory: Annotated[str, takes("MB", "Most memory of a visitor's process.")] = str(MEGABYTES),
) -> None:
    """Serve a web page on which links and swarms change as you drag; needs the extra notebook."""
    given = options(ip, port, visitors, memory, token=not no_token)
    from btflow.explore.serve import run_explorer

    run_explorer(given, browser=not no_browser)


def lab(
    port: Annotated[Text, _port(LAB_PORT)] = None,
    no_browser: NoBrowser = False,
    ip: Ip = HERE,
    no_token: NoToken = False,
) -> None:
    """Open JupyterLab on the teaching notebooks; needs the extra notebook."""
    given = options(ip, port, token=not no_token, command="lab")
    from btflow.explore.serve import run_lab

    run_lab(given, browser=not no_browser)


def handout(
    folder: Annotated[str, typer.Argument(metavar="FOLDER", help="Where the pages are written; made if need be.")],
    lesson: Annotated[list[str] | None, takes("NAME", "A lesson, again for more.  [all]")] = None,
    site: Annotated[str, takes("ADDRESS", "Site of the documentation, seen from a page: it is linked.")] = "",
) -> None:
    """Write the lessons as pages to hand out, one HTML file each; needs the extra notebook."""
    check_installed("handout")
    place = Path(folder)
    if not folder:
        raise InputError("FOLDER", folder, "is empty", "a folder, . for this one")
    if os.path.exists(place) and not place.is_dir():  # Path.exists raises if the name is too long
        raise InputError("FOLDER", folder, "is a file", "a folder")
    from btflow.explore.handout import save_all

    for file, size in save_all(place, lesson or (), site):
        say(f"{file}: {size / 1e6:.2f} MB")
