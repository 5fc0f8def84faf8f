"""What a theorem can see: the imports of its module and what stands before it in its file.

In: a corpus and the examples that will be asked about. Out: for each example the imports and the premises of its file,
as the Lean plugin would send them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from sidecar.corpus.policy import propositional_constants, role
from sidecar.corpus.records import Declaration
from sidecar.corpus.source import Corpus
from sidecar.errors import SidecarError
from sidecar.select.request import LocalPremise
from sidecar.text.declaration import wire_text
from training.data.examples import PremiseExample


class FileContexts:
    """Imports and earlier premises of the files that some examples stand in.

    Args:
        corpus: The corpus that holds the examples' modules; read once or twice.
        examples: What will be asked about.

    Raises:
        SidecarError: When a module of the examples is not in the corpus.
    """

    def __init__(self, corpus: Corpus, examples: Iterable[PremiseExample]) -> None:
        wanted = {example.module for example in examples}
        self._imports = {module.name: module.imports for module in corpus.modules() if module.name in wanted}
        missing = sorted(wanted - self._imports.keys())
        if missing:
            raise SidecarError(
                "bad_request",
                f"{len(missing)} modules of the examples are not in the corpus, such as {missing[0]}",
                field="corpus",
                hint="give the corpus that the examples were made from",
            )
        propositional = propositional_constants(corpus.declarations())
        self._declarations: dict[str, list[Declaration]] = defaultdict(list)
        for declaration in corpus.declarations():
            if declaration.module in wanted and role(declaration, propositional).premise:
                self._declarations[declaration.module].append(declaration)
        for declarations in self._declarations.values():
            declarations.sort(key=lambda declaration: declaration.line or 0)

    def imports(self, example: PremiseExample) -> tuple[str, ...]:
        """Directly imported modules of the example's file."""
        return self._imports[example.module]

    def before(self, example: PremiseExample) -> tuple[LocalPremise, ...]:
        """Premises of the example's file that stand before it, in order; none when its line is not known."""
        if example.line is None:
            return ()
        return tuple(
            LocalPremise(
                name=declaration.name,
                text=wire_text(declaration),
                constants=declaration.constants,
                module=declaration.module,
            )
            for declaration in self._declarations[example.module]
            if declaration.line is not None and declaration.line < example.line and declaration.name != example.theorem
        )
