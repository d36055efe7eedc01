"""`btflow lab`: JupyterLab in the folder of the teaching notebooks."""

from __future__ import annotations

import os
import shutil
import sys
import warnings
from importlib.resources import as_file, files
from pathlib import Path
from urllib.parse import quote

import typer

from btflow.errors import InputError
from btflow.explore.options import LAB_PORT, LOCAL, Options
from btflow.explore.serve import address, bound_port

LONGEST_FOLDER = 50
"""Of Jupyter's files, for the sockets in it: a path has at most 104 B, of which the name of one takes 50."""
COPIES = "btflow-notebooks"
"""Folder that the notebooks are copied to, in the user's directory, where btflow is installed."""


def main(options: Options, *, browser: bool) -> None:
    """Run JupyterLab until Ctrl-C; its address is told once it listens there.

    Raises:
        InputError: The port is not to be had, the notebooks cannot be copied, or no folder for Jupyter's files be made.
        SystemExit: Another program took the port while JupyterLab started, which says so.
    """
    import voila  # noqa: F401 - the server loads it, and from then on warnings of traitlets are shown
    from jupyterlab.labapp import LabApp

    check_runtime()
    folder = notebooks(Path.cwd())
    sockets, port = bound_port(options, LAB_PORT)
    for each in sockets:
        each.close()
    if options.ip not in LOCAL or not options.token:
        typer.echo("Warning: whoever opens this page can run programs as you.", err=True)
    page = address(options, port, first_page(folder))

    def ready() -> None:
        typer.echo(f"The notebooks are in {folder}\nJupyterLab is at\n\n    {page}\n\nCtrl-C stops it.")
        sys.stdout.flush()  # it may be a pipe, and JupyterLab says no more

    # About how extensions of the server are written: notebook_shim reads its every attribute, those deprecated, too.
    warnings.filterwarnings("ignore", category=DeprecationWarning, module="traitlets")
    server = LabApp.initialize_server(argv=arguments(options, port, folder, browser=browser))
    server.io_loop.add_callback(ready)  # behind what binds the port, which JupyterLab wants to do itself
    server.start()


def first_page(folder: Path) -> str:
    """Return the path of the address that opens the first notebook of a folder."""
    first = next(iter(sorted(folder.glob("*.ipynb"))), None)
    return f"/lab/tree/{quote(first.name)}" if first else "/lab"


def arguments(options: Options, port: int, folder: Path, *, browser: bool) -> list[str]:
    """Return the command line of JupyterLab."""
    given = {
        "ServerApp.ip": options.ip,
        "ServerApp.port": port,
        "ServerApp.port_retries": 0,
        "ServerApp.root_dir": folder,
        "ServerApp.answer_yes": True,  # to the question after Ctrl-C
        "ServerApp.open_browser": browser,
        "Application.log_level": "ERROR",  # of the server and of LabApp
        "ServerApp.allow_root": hasattr(os, "geteuid") and os.geteuid() == 0,  # as in a container
        "IdentityProvider.token": options.token,
        "LabApp.default_url": first_page(folder),
        "LabApp.check_for_updates_class": "jupyterlab.NeverCheckForUpdate",  # asks the network for nothing
        "KernelManager.transport": transport(),
    }
    return [f"--{name}={value}" for name, value in given.items()]


def transport() -> str:
    """Return how the server speaks to kernels: where it can, by sockets that nobody else on this machine can read."""
    from jupyter_core.paths import jupyter_runtime_dir

    return "tcp" if sys.platform == "win32" or len(jupyter_runtime_dir()) > LONGEST_FOLDER else "ipc"


def check_runtime() -> None:
    """Raise an InputError if Jupyter cannot write what it must while it runs."""
    from jupyter_core.paths import jupyter_runtime_dir

    folder = jupyter_runtime_dir()
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
        reason = "" if os.access(folder, os.W_OK) else "cannot be written"
    except OSError as error:
        reason = f"cannot be made: {error.strerror}"
    if reason:
        raise InputError("JUPYTER_RUNTIME_DIR", folder, reason, "a folder that can be written, for Jupyter's own files")


def notebooks(here: Path) -> Path:
    """Return the folder of the notebooks: that of a checkout, or copies below a directory.

    A notebook that is there already is never overwritten.

    Raises:
        InputError: The copies cannot be written.
    """
    with as_file(files("btflow.notebooks")) as source:
        if (source.parent / "pyproject.toml").is_file() and os.access(source, os.W_OK):
            return source
        target = here / COPIES
        try:
            target.mkdir(exist_ok=True)
            for notebook in sorted(source.glob("*.ipynb")):
                _copy(notebook, target / notebook.name)
        except OSError as error:
            raise InputError(
                "btflow lab", str(target), f"cannot be written: {error.strerror}", "another folder"
            ) from None
        return target


def _copy(notebook: Path, target: Path) -> None:
    """Copy a notebook unless there is one of that name; say so if that one differs."""
    if not target.exists():
        shutil.copyfile(notebook, target)
    elif target.read_bytes() != notebook.read_bytes():
        typer.echo(f"Kept {target.name} as it is; btflow's own differs.", err=True)
