"""What a model file makes: a frozen model whose parameters can be set again, and how its file is read."""

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Generic, Protocol, Self, TypeVar

from pydantic import ConfigDict, PrivateAttr

import btflow  # what is above this is reached through it alone, when it is asked for
from btflow.config.files import Keys
from btflow.errors import InputError, ScenarioError
from btflow.signatures import Offering, offering
from btflow.summaries import Summary
from btflow.units.quantity import FrozenModel


class Builder(Protocol):
    """What makes a model with other values."""

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The declared parameters by name."""

    def build(self, given: Mapping[str, object]) -> Any:
        """Return the model with some parameters and fields set."""


_INNER = {"attach", "document"}
"""What a scenario has for other modules, not for people."""


class ParametrisedModel(FrozenModel):
    """A frozen model that knows the parameters of the file it was made from."""

    model_config = ConfigDict(ignored_types=(Offering,))

    _parameters: Mapping[str, str] = PrivateAttr(default_factory=dict)
    _given: Mapping[str, object] = PrivateAttr(default_factory=dict)
    _document: Builder | None = PrivateAttr(default=None)

    @property
    def parameters(self) -> Mapping[str, str]:
        """The value of each parameter, and of each field set by its path, as texts that ``set`` takes back."""
        return MappingProxyType(dict(self._parameters))

    @property
    def given(self) -> Mapping[str, object]:
        """The values that were given, by ``load`` or ``set``; the other parameters have their defaults."""
        return MappingProxyType(dict(self._given))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the parameters of its model file, which ``set`` takes."""
        declared = self._document.parameters if self._document is not None else {}
        return tuple(name for name in declared if name.isidentifier())

    def summary(self) -> Summary:
        """Return in a few lines what it is: name and title, what is changed against the model file, and its size."""
        own = {name: text for name, text in self._parameters.items() if name in self._given}
        changed = ", ".join(f"{name} = {text}" for name, text in own.items()) or "nothing: all is as in the model file"
        name, title = (str(getattr(self, field, "")) for field in ("name", "title"))
        return Summary(f"{type(self).__name__} {name}", title, {"changed": changed, "size": self.size()})

    def size(self) -> str:
        """Return how large it is, in words."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return repr(self.summary())

    __str__ = __repr__

    def _repr_html_(self) -> str:
        return self.summary().html()

    def __dir__(self) -> Iterable[str]:
        """Return what is of use: fields, parameters' methods and figures, none of what only pydantic needs."""
        own = {name for part in type(self).__mro__ if issubclass(part, ParametrisedModel) for name in vars(part)}
        names = own | type(self).model_fields.keys()
        return sorted(name for name in names if not name.startswith(("_", "model_")) and name not in _INNER)

    @offering
    def set(self, **values: object) -> Self:
        """Return a copy with some of the model's parameters or fields changed.

        Args:
            values: By parameter name, or by the dotted path of any field as in the model's file, such as
                ``**{"classes.*.client": "libtorrent-2"}``: a text with a unit (``rtt="400 ms"``), an int for a count, a
                number for a fraction, a bool for a flag, the name or path of a file where the model's file may have
                one (it is read once for a loaded model), None or ``none`` to leave an optional field out or a limit
                away. Those not given stay as they are. The order does not matter; a field within a table is set after
                the table. What was set before is forgotten where nothing reads it any more: an `rtt` once there is an
                `internet`.

        Raises:
            ScenarioError: A parameter or field is unknown, one field is set by two, or the values make no scenario.
            UnitError: A value has no unit, the wrong one, or is out of range.
        """
        rebuilt: Self = self.document.build(self.document.assigner.over(self._given, values))
        return rebuilt

    def digest(self) -> str:
        """Return a SHA-256 hex digest of all that can change a result, and of nothing else."""
        raise NotImplementedError

    @offering
    def explore(self, *, seed: int = 0, **values: object) -> Any:
        """Return live figures beside inputs for the parameters, for a notebook; see ``btflow.explore.explore``.

        Args:
            seed: Seed of the random numbers.
            values: What the inputs begin with, as in ``set``: ``explore(rtt="400 ms")``.

        Raises:
            InputError: As in ``set``.
        """
        return btflow.explore.explore(self.set(**values), seed=seed)  # type: ignore[arg-type]  # it says what it is of

    @offering
    def compare(self, *, pairs: int = 10, seed: int = 0, **values: object) -> Any:
        """Return this setting beside one with other values, pair by pair; see ``btflow.explore.whatif``.

        Args:
            pairs: How many pairs at first.
            seed: Seed of the random numbers.
            values: As in ``set``: ``compare(rtt="400 ms")``.

        Raises:
            InputError: As in ``set``, or the values change nothing that a result depends on.
        """
        other = self.set(**values)
        if other.digest() == self.digest():
            given = ", ".join(f"{name}={value!r}" for name, value in values.items()) or None
            reason = "changes nothing: both settings are the same, and so is every pair"
            raise InputError("compare", given, reason, 'a value other than the present one, such as rtt="400 ms"')
        return btflow.explore.whatif(self, other, pairs=pairs, seed=seed)  # type: ignore[arg-type]  # it says what it is of

    @property
    def document(self) -> Any:
        """The ``btflow.config.document.Document`` it was made from; a ScenarioError if there is none."""
        if self._document is None:
            raise ScenarioError("set", None, "this scenario was not loaded from a model file")
        return self._document

    def attach(self, parameters: Mapping[str, str], given: Mapping[str, object], document: Builder) -> Self:
        """Remember, once and by the loader only, what ``parameters`` and ``set`` need."""
        self._parameters, self._given, self._document = dict(parameters), dict(given), document
        return self


Model = TypeVar("Model", bound=ParametrisedModel)


def _as_it_is(model: Model) -> Model:
    return model


def _none_unused(_model: ParametrisedModel, _own: Set[Keys]) -> Iterable[ScenarioError]:
    return ()


@dataclass(frozen=True)
class ModelKind(Generic[Model]):
    """A kind of model files.

    Attributes:
        folder: Where in ``models/`` they are.
        noun: What they describe, as a plural.
        model: What their content is.
        references: Folder of the files that a field names, by the field's dotted path; ``*`` stands for any entry.
        named: Tables whose keys are the names of entries: what an entry is, and the name of one.
        finish: What is done to the validated model.
        rivals: Fields of one table of which a model has one, by dotted path: to set one takes the file's others out.
        supersedes: Fields that nothing reads where another one is there, by that one's dotted path.
        aliases: Fields that can be set by a word besides, by the word: their dotted paths.
        unused: Finds what has no effect among the fields, by their keys, that were set by their paths.
    """

    folder: str
    noun: str
    model: type[Model]
    references: Mapping[str, str]
    named: Mapping[str, tuple[str, str]]
    finish: Callable[[Model], Model] = _as_it_is
    rivals: tuple[tuple[str, ...], ...] = ()
    supersedes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    aliases: Mapping[str, str] = field(default_factory=dict)
    unused: Callable[[Model, Set[Keys]], Iterable[ScenarioError]] = _none_unused

    def pattern(self, keys: Sequence[str]) -> str:
        """Return the dotted path of a field with these keys, ``*`` in place of the name of an entry."""
        return ".".join((keys[0], "*", *keys[2:]) if len(keys) > 1 and keys[0] in self.named else keys)

    def folder_of(self, keys: Sequence[str]) -> str | None:
        """Return the folder of the files that the field with these keys names; None if it names none."""
        return self.references.get(self.pattern(keys))

    def folders_below(self, keys: Sequence[str]) -> tuple[tuple[str, str], ...]:
        """Return which fields in a table with these keys name files, by dotted paths from it on, and their folders."""
        table = f"{self.pattern(keys)}."
        inside = ((path, folder) for path, folder in self.references.items() if path.startswith(table))
        return tuple((path.removeprefix(table), folder) for path, folder in inside)

    def rivals_of(self, keys: Keys) -> list[Keys]:
        """Return the fields beside the one with these keys of which a model has one."""
        mine = self.pattern(keys)
        others = [field for rivals in self.rivals if mine in rivals for field in rivals if field != mine]
        return [(*keys[:-1], field.rsplit(".", 1)[-1]) for field in others]
