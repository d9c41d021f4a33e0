"""Channel names and their numbers in the store. Names never reach the hot tables."""

from collections.abc import Mapping

import apsw

from gateway.errors import BugError, OperatorError
from gateway.model.ids import ChannelName
from gateway.store.sqlite.statements import ask, named

Q = named("channels")


class Channels:
    """The channels this process knows; filled from committed rows only."""

    def __init__(self, db: apsw.Connection) -> None:
        self._numbers: dict[ChannelName, int] = {}
        self.learn({ChannelName(name): number for number, name in ask(db, Q["channels"])})

    def learn(self, found: Mapping[ChannelName, int]) -> None:
        """Note committed numbers."""
        self._numbers.update(found)

    def number(self, name: ChannelName) -> int:
        """Give a registered channel's number. Raises BugError for one nobody registered."""
        number = self._numbers.get(name)
        if number is None:
            raise BugError(f"channel {name} was never registered")
        return number


def register(db: apsw.Connection, wanted: Mapping[ChannelName, str]) -> Mapping[ChannelName, int]:
    """Write channels and their dispatch groups, inside the caller's transaction; gives their numbers.

    Raises OperatorError when a channel would leave a group that is led while rows of it are on their way.
    """
    numbers: dict[ChannelName, int] = {}
    for name, group in wanted.items():
        found = ask(db, Q["channel"], (name,))
        if not found:
            db.execute(Q["add_channel"], (name, group))
            numbers[name] = db.last_insert_rowid()
            continue
        numbers[name], before = found[0]
        if before != group:
            _regroup(db, numbers[name], name, before=before, group=group)
    return numbers


def _regroup(db: apsw.Connection, number: int, name: ChannelName, *, before: str, group: str) -> None:
    """Move a channel under another group's lease; what the old group left in the air is recovered by the new one."""
    flying = ask(db, Q["flying"], (number,))
    if flying and ask(db, Q["led"], (before,)):
        raise OperatorError(f"channel {name} has a row on its way to {before}: stop the gateway before moving it")
    # Epochs of two groups do not compare; 0 is lower than any.
    db.execute(Q["forget_epochs"], (number,))
    db.execute(Q["move_channel"], (number, group))
