"""An import-linter contract that names what may be imported; everything else is forbidden."""

from __future__ import annotations

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, fields, output


class OnlyContract(Contract):
    """Modules of one package import each other and the allowed modules, directly, and no others.

    An allowed module of that package may import what it likes.
    """

    package = fields.StringField()
    allowed_modules = fields.ListField(subfield=fields.StringField())

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:  # noqa: ARG002  # it is called so
        """Return whether the contract is kept, with every import that breaks it."""
        package = str(self.package)
        apart = {str(name) for name in self.allowed_modules}  # type: ignore[attr-defined]  # a list in an instance
        allowed = (package, *apart)
        broken = [
            f"{importer} -> {imported}"
            for importer in sorted(({package} | graph.find_descendants(package)) - apart)
            for imported in sorted(graph.find_modules_directly_imported_by(importer))
            if not any(imported == name or imported.startswith(f"{name}.") for name in allowed)
        ]
        return ContractCheck(kept=not broken, metadata={"broken": broken})

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Print the imports that break the contract."""
        for line in check.metadata["broken"]:
            output.print_error(line)
