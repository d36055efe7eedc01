"""A trace as one HTML page that plays by itself: no server, no network, at most 3 MB."""

import base64
import html
import zlib
from importlib.resources import files
from pathlib import Path

from btflow.errors import InputError
from btflow.files import replacing
from btflow.motion.trace import Trace
from btflow.options import output_file

MOST_BYTES = 3_000_000
"""Most bytes of a page: it can be mailed, and put on any site."""

_SCRIPTS = ("drawing.js", "link.js", "swarm.js", "motion.js")
_PAGE = """<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src \
'unsafe-inline'">
<title>{title}</title>
<style>{style}
html {{ background: #fff; color: #222; color-scheme: light dark; font-family: Arial, Helvetica, sans-serif; }}
body {{ max-width: 1100px; margin: 0 auto; padding: 4px 10px; }}
h1 {{ font-size: 20px; margin: 6px 2px; }}
@media (prefers-color-scheme: dark) {{ html {{ background: #161616; color: #e6e6e6; }} }}
</style></head>
<body><main><h1>{title}</h1><div id="motion"></div></main>
<script type="text/plain" id="trace">{trace}</script>
<script type="module">{script}
await playText(document.getElementById("motion"), document.getElementById("trace").textContent);
</script></body></html>
"""


def script() -> str:
    """Return the module that plays traces, as text; its default export is a widget's."""
    return "\n".join(_read(name) for name in _SCRIPTS)


def style() -> str:
    """Return the style sheet of what it plays."""
    return _read("motion.css")


def page(trace: Trace) -> bytes:
    """Return the page as bytes; InputError if it is larger than MOST_BYTES."""
    packed = base64.b64encode(zlib.compress(trace.packed(), 9)).decode()
    title = html.escape(str(trace.about["title"]))
    text = _PAGE.format(title=title, style=style(), trace=packed, script=script())
    content = text.encode()
    if len(content) > MOST_BYTES:
        raise InputError(
            "trace", repr(trace), f"makes a page of {len(content) / 1e6:.1f} MB", f"{MOST_BYTES / 1e6:g} MB; {_LOWER}"
        )
    return content


def save(trace: Trace, path: str | Path) -> None:
    """Write a trace as one HTML page that plays it without a network, at most MOST_BYTES long.

    Args:
        trace: What `record` returns.
        path: A file ending in .html.

    Raises:
        InputError: It is no trace, the page would be too large, or no such file can be written there.
        OSError: The file cannot be written; what was there before is kept.
    """
    if not isinstance(trace, Trace):
        raise InputError("trace", trace, "is not a trace", "what btflow.motion.record returns")
    file = output_file("path", path, ".html")
    content = page(trace)
    with replacing(file) as partial:
        partial.write_bytes(content)


_LOWER = "a shorter length of a link, fewer leechers or larger pieces of a swarm"


def _read(name: str) -> str:
    return (files("btflow.motion") / "page" / name).read_text(encoding="utf-8")
