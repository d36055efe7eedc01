"""``btflow explore`` and ``btflow lab``: what they are given on the command line."""

from typing import Annotated, Any

import typer

from btflow.explore.options import LAB_PORT, MEGABYTES, PORT, VISITORS, options

Text = str | None

HERE = "127.0.0.1"


def _port(first: int) -> Any:
    """Return the option of the port to listen on."""
    return typer.Option(metavar="NUMBER", help=f"Port to listen on.  [{first}, or the next free one]")


Ip = Annotated[str, typer.Option(metavar="ADDRESS", help="Address to listen on; 0.0.0.0 for all.")]
NoToken = Annotated[bool, typer.Option("--no-token", help="Let in everybody who reaches the address.")]
NoBrowser = Annotated[bool, typer.Option("--no-browser", help="Do not open a browser.")]


def explore(
    port: Annotated[Text, _port(PORT)] = None,
    no_browser: NoBrowser = False,
    ip: Ip = HERE,
    no_token: NoToken = False,
    visitors: Annotated[str, typer.Option(metavar="NUMBER", help="Most visitors at once.")] = str(VISITORS),
    memory: Annotated[str, typer.Option(metavar="MB", help="Most memory of a visitor's process.")] = str(MEGABYTES),
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
