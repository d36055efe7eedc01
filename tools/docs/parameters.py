"""MkDocs hook: the pages of parameters, made from the schema and from the model files while the site is built."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from markdown.extensions.toc import slugify
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from btflow.config.catalog import any_document
from btflow.config.fields import Shape, fields_of
from btflow.config.files import inline, names, read_table, split_sources
from btflow.config.kinds import ModelKind
from btflow.link.access import AccessLink
from btflow.link.congestion import CongestionControl
from btflow.link.flow import Codec
from btflow.link.scenario import LINKS
from btflow.paths.model import PathModel
from btflow.swarm.client import Client
from btflow.swarm.network import Sockets, Transport
from btflow.swarm.scenario import SWARMS
from btflow.units import KINDS, format_quantity
from btflow.units.quantity import FrozenModel

Row = Sequence[str]
DESCRIPTIVE = ("name", "title", "source")
KINDS_OF_VALUES = {"flag": "true or false", "count": "a whole number", "text": "a text", "names": "names"}

MODELS = """# Models and their parameters

The models that come with btflow, each with its parameters: names of what the experiment is about. `btflow list MODEL`
prints the same; `--set NAME=VALUE`, `btflow.load(MODEL, NAME=VALUE)` and `--vary` take them. Every other field can be
set by its path: [fields of a swarm](swarm.md), [fields of a link experiment](link.md)."""

FILE = """# Fields of a {noun} file

Every field of a model file in `models/{folder}/`, by its path, as `--set` takes it. `NAME` stands for any name; `*` in
its place stands for all of them. What is left out has the default; a field without one must be there. Where a file is
named, a path to your own or a table that starts from a `base` does as well."""

CLIENTS = """# BitTorrent clients

What a client's file has, and the clients that come with btflow, with the source of each number. The rules themselves
are in [the BitTorrent client](../client.md)."""

CONGESTION = """# Congestion controls

What a congestion control's file has, and those that come with btflow, with the source of each number. The laws
themselves are in [window laws](../laws.md). A `base` is already filled in here."""

ACCESS = """# Access links

What an access link's file has, and those that come with btflow, with the source of each number."""

TRANSPORTS = """# Transport without access links

What a transport's file has, and those that come with btflow, with the source of each number. Swarms whose peers have
no access links use it: [TCP](../tcp.md)."""

SOCKETS = """# Sockets

What a file of sockets has, and those that come with btflow, with the source of each number. Swarms on access links use
them: [how much is written ahead](../swarms-on-links.md)."""

INTERNET = """# Path models

What the file of a path model has, and those that come with btflow, with the source of each number. Swarms whose peers
have [paths of their own](../paths.md) use them; `btflow calibrate` writes them. A file begins with `name`, `title` and
`source`, three texts; a point of `rtt` or `loss` may have a `source`, too. `share` rises from point to point, `value`
does not fall."""

CODECS = """# Speech codecs

What a codec's file has, and those that come with btflow, with the source of each number. Calls of
[link experiments](../links.md) use them."""

PARTS: Mapping[str, tuple[str, type[FrozenModel]]] = {
    "clients": (CLIENTS, Client),
    "congestion": (CONGESTION, CongestionControl),
    "access": (ACCESS, AccessLink),
    "transports": (TRANSPORTS, Transport),
    "sockets": (SOCKETS, Sockets),
    "internet": (INTERNET, PathModel),
    "codecs": (CODECS, Codec),
}
"""By folder of ``models/``: the head of its page, and what a file holds."""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages."""
    for name, content in pages().items():
        files.append(File.generated(config, f"parameters/{name}.md", content=content))
    return files


def pages() -> dict[str, str]:
    """Return the content of each page by its name."""
    return {
        "models": "\n\n".join([MODELS, *chain.from_iterable(_model(name) for name in (*names(), *names("links")))]),
        "swarm": _file_page("swarm", SWARMS),
        "link": _file_page("link", LINKS),
    } | {folder: _parts_page(head, model, folder) for folder, (head, model) in PARTS.items()}


def table(head: Row, rows: Iterable[Row]) -> str:
    """Return a table in Markdown."""
    lines = [head, ["---"] * len(head), *([cell.replace("|", "\\|") for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _model(name: str) -> Iterator[str]:
    """Give the parts of a model's section."""
    document = any_document(name)
    scenario = document.build({})
    yield f"## {name}"
    yield f"{scenario.title}. Source: {scenario.source}."
    if document.byte_prefix == "binary":
        yield "In this model 1 kB = 1024 B and 1 MB = 2<sup>20</sup> B."
    rows = []
    for p in document.parameters.values():
        default = scenario.parameters[p.name] if p.default_from is None else f"as `{p.default_from}`"
        words = f" ({', '.join(p.words)})" if p.words else ""
        source = document.sources.get(p.sets[0], "")
        rows.append((f"`{p.name}`", p.unit, default, p.meaning + words, ", ".join(map(_breakable, p.sets)), source))
    yield table(("parameter", "SI unit", "default", "meaning", "sets", "source of the default"), rows)


def _breakable(path: str) -> str:
    """Return a dotted path that may go on in another line after a dot."""
    return f"<code>{path.replace('.', '.<wbr>')}</code>"


def _file_page(noun: str, kind: ModelKind[Any]) -> str:
    """Return the page of all fields of a kind of model file."""
    parts = [FILE.format(noun=noun, folder=kind.folder)]
    found = dict(sections(kind.model, kind))
    for path, model in found.items():
        head = f"`{path}`" if path else "At the top"
        parts += [f"## {head}", _first_line(model), _fields(model, found, kind, path)]
    return "\n\n".join(parts)


def sections(model: type[FrozenModel], kind: ModelKind[Any], path: str = "") -> Iterator[tuple[str, type[FrozenModel]]]:
    """Give the tables of a model file, by dotted path; a model that is in several places only where it is first."""
    seen: set[type[FrozenModel]] = set()
    waiting = [(path, model)]
    while waiting:
        here, found = waiting.pop(0)
        if found not in seen:
            seen.add(found)
            yield here, found
            waiting += [(_path(here, name, kind), inner) for name, inner in _tables(found)]


def _tables(model: type[FrozenModel]) -> list[tuple[str, type[FrozenModel]]]:
    """Return the fields of a model that hold tables, with what the tables hold."""
    shapes = ((name, shape.model or (shape.entry.model if shape.entry else None)) for name, shape in _shapes(model))
    return [(name, inner) for name, inner in shapes if inner is not None]


def _shapes(model: type[FrozenModel]) -> Iterator[tuple[str, Shape]]:
    return ((name, shape) for name, shape in fields_of(model).items() if name not in DESCRIPTIVE)


def _path(above: str, name: str, kind: ModelKind[Any]) -> str:
    path = f"{above}.{name}" if above else name
    return f"{path}.NAME" if path in kind.named else path


def _fields(
    model: type[FrozenModel], found: Mapping[str, type[FrozenModel]], kind: ModelKind[Any], above: str = ""
) -> str:
    """Return the table of a model's fields; ``found`` says where on the page each table's fields are."""
    places = {inner: path for path, inner in found.items()}
    rows = []
    for name, shape in _shapes(model):
        folder = kind.folder_of(_path(above, name, kind).replace("NAME", "*").split("."))
        inner = shape.model or (shape.entry.model if shape.entry else None)
        takes = _takes(shape, folder) + (f": `{places[inner]}`" if inner in places else "")
        rows.append((f"`{name}`", takes, _default(model, name, shape), shape.meaning))
    return table(("field", "takes", "default", "meaning"), rows)


def _takes(shape: Shape, folder: str | None) -> str:
    """Return what a field takes, with its range."""
    if folder is not None:
        return f"a file of `models/{folder}`"
    if shape.kind in ("table", "keyed", "list"):
        return "tables" if shape.kind == "list" and shape.entry and shape.entry.model else f"a {shape.kind}"
    if shape.words:
        return ", ".join(f"`{word}`" for word in shape.words)
    if shape.quantity is None or shape.kind in ("flag", "names", "text", "choice", "buffer"):
        return KINDS_OF_VALUES.get(shape.kind, f"a {shape.kind}")
    info, q = KINDS[shape.value_kind], shape.quantity
    low, high = (i if b is None else b for i, b in ((info.minimum, q.minimum), (info.maximum, q.maximum)))
    ends = [_number(float(end), shape) for end in (low, high)]
    return f"{ends[0]} to {ends[1]}" + (", or `unlimited`" if q.unlimited else "")


def _number(value: float, shape: Shape) -> str:
    """Return a number of a kind with its unit; what is called a fraction may be any number without one."""
    if shape.kind == "count":
        return f"{int(value):,}"
    return f"{value:g}" if shape.kind == "fraction" else format_quantity(value, shape.value_kind)


def _default(model: type[FrozenModel], name: str, shape: Shape) -> str:
    """Return what a field is if it is left out."""
    info = next(info for field, info in model.model_fields.items() if (info.alias or field) == name)
    if info.is_required():
        return "**required**"
    value = info.default
    if value is None or info.default_factory is not None or value == () or shape.kind in ("table", "keyed", "list"):
        return "–"
    if isinstance(value, str | tuple):
        return value if isinstance(value, str) else ", ".join(value)
    return _number(value, shape) if not isinstance(value, bool) else str(value).lower()


def _parts_page(head: str, model: type[FrozenModel], folder: str) -> str:
    """Return the page of the files of a folder of ``models/``."""
    read = {name: split_sources(read_table(name, folder, Path(), "model")) for name in names(folder)}
    parts = [head, table(("name", "what", "source"), (_summary(name, *content) for name, content in read.items()))]
    found = dict(sections(model, SWARMS))
    for path, inner in found.items():
        parts += [f"## Fields of `{path}`" if path else "## Fields", _fields(inner, found, SWARMS, path)]
    for name, (tree, sources) in read.items():
        lists = dict(_lists(tree))
        rows = [(f"`{path}`", value, sources.get(path, "")) for path, value in _leaves(tree)]
        parts += [f"## {name}", table(("constant", "value", "source"), rows)]
        parts += [part for path, entries in lists.items() for part in (f"`{path}` of {name}:", _entries(entries))]
    return "\n\n".join(parts)


def _lists(tree: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, list[Mapping[str, Any]]]]:
    """Give the dotted path of each list of tables, and the list."""
    for key, value in tree.items():
        here = f"{path}.{key}" if path else str(key)
        if isinstance(value, dict):
            yield from _lists(value, here)
        elif _of_tables(value):
            yield here, value


def _of_tables(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict)


def _entries(entries: Sequence[Mapping[str, Any]]) -> str:
    """Return a list of tables as one table."""
    head = tuple(dict.fromkeys(key for entry in entries for key in entry))
    return table(head, ([str(entry.get(key, "")) for key in head] for entry in entries))


def _summary(name: str, tree: Mapping[str, Any], _sources: Mapping[str, str]) -> Row:
    return f"[{name}](#{slugify(name, '-')})", str(tree.get("title", "")), str(tree.get("source", ""))


def _leaves(tree: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, str]]:
    """Give the dotted path and the value of all that is in a table but its description and lists of tables."""
    for key, value in tree.items():
        here = f"{path}.{key}" if path else str(key)
        if isinstance(value, dict):
            yield from _leaves(value, here)
        elif here not in DESCRIPTIVE and not _of_tables(value):
            yield here, value if isinstance(value, str) else inline(value)


def _first_line(model: type[FrozenModel]) -> str:
    return (model.__doc__ or "").strip().splitlines()[0]
