"""Which answers a sender wants, by the channel's mode and MSH-15/16 (HL7 ch. 2, 2.9; table 0155). Pure."""

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import assert_never

from gateway.model.policy import AckMode
from gateway.wire.header import Header


class Wanted(StrEnum):
    """Table 0155: on which outcomes an answer is wanted."""

    ALWAYS = "AL"
    NEVER = "NE"
    ERRORS = "ER"
    SUCCESSES = "SU"

    def admits(self, *, positive: bool) -> bool:
        """Tell whether an answer of that sign is wanted."""
        match self:
            case Wanted.ALWAYS:
                return True
            case Wanted.NEVER:
                return False
            case Wanted.ERRORS:
                return not positive
            case Wanted.SUCCESSES:
                return positive
            case _:
                assert_never(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """How one message is answered.

    `enhanced`: our own answers are CA/CE/CR, and the server's comes later by itself; else they are AA/AE/AR.
    `commit` filters our own answers, `application` the server's. `waits`: the frame's one answer is the server's.
    `doubtful`: MSH-15 or MSH-16 held a value outside table 0155, read as AL.
    """

    enhanced: bool
    commit: Wanted
    application: Wanted
    waits: bool
    doubtful: bool = False

    @property
    def owes_application(self) -> bool:
        """True when the sender may get an answer of the application level."""
        return self.application is not Wanted.NEVER


COMMIT = Agreement(enhanced=False, commit=Wanted.ALWAYS, application=Wanted.NEVER, waits=False)
APPLICATION = Agreement(enhanced=False, commit=Wanted.ALWAYS, application=Wanted.ALWAYS, waits=True)

_NULL = b'""'
_WORDS = {word.value.encode(): word for word in Wanted}


def agree(mode: AckMode, header: Header | None) -> Agreement:
    """Find the agreement for one frame; `header` None (unreadable) counts as one that asks for nothing special."""
    accept, application = (b"", b"") if header is None else (header.accept_ack, header.application_ack)
    match mode:
        case AckMode.COMMIT:
            # Most senders that fill MSH-15/16 with NE still wait for an answer, so both are ignored.
            return COMMIT
        case AckMode.APPLICATION:
            return APPLICATION
        case AckMode.ENHANCED:
            return _enhanced(application)
        case AckMode.AUTO:
            return _by_fields(accept, application)
        case _:
            assert_never(mode)


def _enhanced(application: bytes) -> Agreement:
    wanted = _read(application, empty=Wanted.ALWAYS)
    return Agreement(
        enhanced=True,
        commit=Wanted.ALWAYS,
        application=wanted or Wanted.ALWAYS,
        waits=False,
        doubtful=wanted is None,
    )


def _by_fields(accept: bytes, application: bytes) -> Agreement:
    if not _filled(accept) and not _filled(application):
        return COMMIT
    first = _read(accept, empty=Wanted.NEVER)
    second = _read(application, empty=Wanted.NEVER)
    commit, later = first or Wanted.ALWAYS, second or Wanted.ALWAYS
    waits = commit is Wanted.NEVER and later is not Wanted.NEVER
    return Agreement(
        enhanced=not waits,
        # A sender that wants the application's answer alone is told our own refusals at that level too.
        commit=later if waits else commit,
        application=later,
        waits=waits,
        doubtful=first is None or second is None,
    )


def _filled(value: bytes) -> bool:
    return value.strip() not in (b"", _NULL)


def _read(value: bytes, *, empty: Wanted) -> Wanted | None:
    return _WORDS.get(value.strip()) if _filled(value) else empty


def agree_in_batch(mode: AckMode, header: Header | None) -> Agreement:
    """Find the agreement for one message of a batch: answered at commit level in every mode, with its batch."""
    if mode is AckMode.APPLICATION:
        return COMMIT
    found = agree(mode, header)
    if found.waits:
        # MSH-15 is NE: nothing is wanted at the level a batch is answered at.
        return replace(found, enhanced=True, commit=Wanted.NEVER, application=Wanted.NEVER, waits=False)
    return replace(found, application=Wanted.NEVER)
