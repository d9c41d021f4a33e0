"""Every kind of torture, in the order of a run. Names them, plays none."""

from collections.abc import Iterable

from gateway.errors import OperatorError
from gateway.sender.torture.content import CONTENT
from gateway.sender.torture.endings import ENDINGS
from gateway.sender.torture.foreign import FOREIGN
from gateway.sender.torture.framing import FRAMING
from gateway.sender.torture.pacing import PACING, PLAIN
from gateway.sender.torture.repeats import REPEATS
from gateway.sender.torture.structure import STRUCTURE
from gateway.sender.torture.values import Kind

KINDS: tuple[Kind, ...] = (PLAIN, *STRUCTURE, *PACING, *FRAMING, *CONTENT, *REPEATS, *ENDINGS, *FOREIGN)


class UnknownKind(OperatorError):
    """There is no kind of that name; `name` is what was asked for."""

    def __init__(self, *, name: str) -> None:
        super().__init__(f"no kind is called {name!r}; --list names them all")
        self.name = name


def chosen(names: Iterable[str]) -> tuple[Kind, ...]:
    """Give the kinds of these names in the order of a run, the plain one always first; all without names. Raises
    UnknownKind.
    """
    known = {kind.name: kind for kind in KINDS}
    wanted = list(names)
    for name in wanted:
        if name not in known:
            raise UnknownKind(name=name)
    return tuple(kind for kind in KINDS if not wanted or kind.name in wanted or kind is PLAIN)
