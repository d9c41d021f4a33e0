"""What an error of SQLite means for the store. Decides; does nothing."""

from enum import Enum, auto

import apsw

from gateway.errors import BugError, GatewayError, StaleEpoch, StoreError, StoreFailed, Unavailable
from gateway.model.ids import Epoch

FULL = "full"
BUSY = "busy"
OVERLOADED = "overloaded"
STOPPING = "stopping"
LOW_SPACE = "low-space"
TROUBLE = "storage-error"
STALE = "stale-epoch"


class Fault(Enum):
    """How bad it is."""

    FATAL = auto()
    """Nothing positive may be said any more: damage, or a write or sync that failed."""
    FULL = auto()
    """The disk is full; it may have room again later."""
    BUSY = auto()
    """Another process held the file for too long."""
    PASSING = auto()
    """Memory or the like; this unit failed."""
    STALE = auto()
    """The fence's trigger stopped a stale leader."""
    BUG = auto()
    """A rule of the schema was broken: the program is wrong."""


_FATAL = (
    apsw.IOError,
    apsw.CorruptError,
    apsw.NotADBError,
    apsw.ReadOnlyError,
    apsw.CantOpenError,
    apsw.PermissionsError,
    apsw.ProtocolError,
)
_BUSY = (apsw.BusyError, apsw.LockedError)
_PASSING = (apsw.NoMemError, apsw.InterruptError, apsw.AbortError, apsw.SchemaChangeError)


def fault_of(error: Exception) -> Fault:
    """Read an error of SQLite."""
    if isinstance(error, _FATAL):
        return Fault.FATAL
    if isinstance(error, apsw.FullError):
        return Fault.FULL
    if isinstance(error, _BUSY):
        return Fault.BUSY
    if isinstance(error, _PASSING):
        return Fault.PASSING
    if isinstance(error, apsw.ConstraintError) and STALE in str(error):
        return Fault.STALE
    return Fault.BUG


def told(error: Exception) -> Exception:
    """Give what the caller of a unit is told; our own errors, and those of its callbacks, pass as they are."""
    if not isinstance(error, apsw.Error):
        return error
    return _TOLD[fault_of(error)](error)


def _bug(error: Exception) -> GatewayError:
    # The text names tables, columns or our own triggers, never values.
    return BugError(f"{type(error).__name__}: {error}")


def _failed(error: Exception) -> StoreError:
    return StoreFailed(reason=f"{type(error).__name__} ({getattr(error, 'extendedresult', 0)})")


_TOLD = {
    Fault.FATAL: _failed,
    Fault.FULL: lambda _: Unavailable(reason=FULL),
    Fault.BUSY: lambda _: Unavailable(reason=BUSY),
    Fault.PASSING: lambda _: Unavailable(reason=TROUBLE),
    Fault.STALE: lambda _: StaleEpoch(epoch=Epoch(0)),
    Fault.BUG: _bug,
}
