"""Writes btflow/config/keywords.py: what models take by keyword, for type checkers and editors.

    python -m tools.keywords

Run it after a parameter of a model was added, renamed or described anew; a test compares.
"""

import textwrap
from collections.abc import Iterator
from pathlib import Path

from btflow.config.catalog import any_document, names
from btflow.config.parameters import Parameter

FILE = Path(__file__).resolve().parents[1] / "btflow/config/keywords.py"

_HEAD = '''"""What each model that comes with btflow takes by keyword, for type checkers, editors and shells.

Made by ``python -m tools.keywords`` of the model files; not to be changed by hand.
"""

from typing import TypedDict

Text = str
"""A text with a unit, or a word."""
Number = int | str
"""A whole number."""
Share = float | str
"""A number from 0 to 1, or a percentage."""
Flag = bool | str
"""Whether."""
Words = str | list[str] | tuple[str, ...]
"""Names, in a list or separated by commas."""
Table = str | dict[str, object] | None
"""Name or path of a file, or a table in place of it."""
'''

_TYPES = {"count": "Number", "packets": "Text", "fraction": "Share", "flag": "Flag", "names": "Words", "file": "Table"}


def source() -> str:
    """Return the module."""
    blocks = [_HEAD]
    for kind in ("swarms", "links"):
        blocks += ["\n".join(_of_model(name)) for name in names(kind)]
    return "\n\n".join(block.rstrip("\n") + "\n" for block in blocks)


def class_name(model: str) -> str:
    """Return the name of a model's class."""
    return model[0].upper() + model[1:]


def _of_model(name: str) -> Iterator[str]:
    yield f"class {class_name(name)}(TypedDict, total=False):"
    yield f'    """Parameters of ``{name}``."""'
    yield ""
    for parameter in any_document(name).parameters.values():
        yield from _of_parameter(parameter)


def _of_parameter(parameter: Parameter) -> Iterator[str]:
    yield f"    {parameter.name}: {_TYPES.get(parameter.kind, 'Text')}"
    meaning = parameter.meaning[:1].upper() + parameter.meaning[1:]
    words = f" ({', '.join(parameter.words)})" if parameter.words else ""
    text = f'"""{meaning}{words}."""'
    yield from textwrap.wrap(text, 120, initial_indent="    ", subsequent_indent="    ", break_on_hyphens=False)


if __name__ == "__main__":
    FILE.write_text(source(), encoding="utf-8")
