"""The application behind the bundled receiver: it says AA to every message it can read. Knows no sockets or files."""

import hashlib

from gateway.errors import HeaderUnreadable
from gateway.model.ids import ControlId
from gateway.receiver.script import ErrorKind, Fault
from gateway.receiver.values import Reply, Taken
from gateway.wire import ack, header

UNREADABLE = Reply(status=400)
"""What a body without a usable MSH gets."""


def control_id(body: str) -> str | None:
    """Read MSH-10 of a body; None when there is no usable MSH."""
    try:
        return header.scan(body.encode(), encoding="utf-8").control_id.decode()
    except HeaderUnreadable:
        return None


def acknowledge(taken: Taken, *, code: ack.AckCode, timestamp: str, control: str | None = None) -> Reply:
    """Answer with MSA-1 `code` and MSA-2 the message's MSH-10 (or `control`).

    The answer's own MSH-10 comes from the callback, so that every send has its own and a replay the same.
    """
    try:
        read = header.scan(taken.body.encode(), encoding="utf-8")
    except HeaderUnreadable:
        return UNREADABLE
    if control is not None:
        read = read._replace(control_id=ControlId(control.encode()))
    message_id = hashlib.blake2b(taken.callback.encode(), digest_size=10).hexdigest().upper()
    return Reply(body=ack.build(read, code, message_id=message_id, timestamp=timestamp, codec="utf-8").decode())


def scripted(taken: Taken, fault: Fault, *, timestamp: str) -> Reply | None:
    """Give the outcome that a fault prescribes; None if it leaves the outcome to the application."""
    if fault.error is ErrorKind.CALLBACK:
        return Reply(status=500)
    if fault.status is not None:
        return Reply(status=fault.status, retry_after=fault.retry_after)
    if fault.ack is not None:
        return acknowledge(taken, code=ack.AckCode(fault.ack), timestamp=timestamp)
    return None
