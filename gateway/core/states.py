"""The one transition table of the server leg. Everything else about states is derived from it."""

from gateway.errors import IllegalTransition
from gateway.model.states import Event, State

BIRTH: dict[Event, State] = {
    Event.ACCEPTED: State.QUEUED,
    Event.REFUSED: State.NACKED,
    Event.QUARANTINED: State.FAILED,
}

TRANSITIONS: dict[State, dict[Event, State]] = {
    State.QUEUED: {
        Event.CLAIMED: State.CLAIMED,
        Event.LATE_ACCEPT: State.PROCESSED,
        Event.LATE_REFUSAL: State.REJECTED,
        Event.DISCARDED: State.DISCARDED,
    },
    State.CLAIMED: {
        Event.SENT: State.INFLIGHT,
        Event.RELEASED: State.QUEUED,
        # The content cannot be read (hash or charset): provably unsent, and nothing to send.
        Event.EXHAUSTED: State.FAILED,
    },
    State.INFLIGHT: {
        Event.RELEASED: State.QUEUED,
        Event.ACCEPTED: State.PROCESSED,
        Event.REFUSED: State.REJECTED,
        Event.RETRY: State.QUEUED,
        Event.DEFERRED: State.QUEUED,
        Event.EXHAUSTED: State.FAILED,
        Event.IN_DOUBT: State.FAILED,
        Event.LATE_ACCEPT: State.PROCESSED,
    },
    State.FAILED: {
        Event.LATE_ACCEPT: State.PROCESSED,
        Event.LATE_REFUSAL: State.REJECTED,
        Event.REQUEUED: State.QUEUED,
        Event.RESOLVED: State.PROCESSED,
        Event.DISCARDED: State.DISCARDED,
    },
    State.REJECTED: {
        Event.REQUEUED: State.QUEUED,
        Event.RESOLVED: State.PROCESSED,
        Event.DISCARDED: State.DISCARDED,
    },
    State.PROCESSED: {},
    State.DISCARDED: {},
    State.NACKED: {},
}

SETTLED = frozenset({State.PROCESSED, State.REJECTED, State.FAILED, State.DISCARDED})
"""States that let the next row of a partition go."""

LIVE = frozenset({State.QUEUED, State.CLAIMED, State.INFLIGHT})
"""States that still hold a place in the queue."""


def advance(state: State | None, event: Event) -> State:
    """Give the state that `event` leads to from `state` (None: not born yet).

    Raises IllegalTransition when the table has no such arrow.
    """
    arrows = BIRTH if state is None else TRANSITIONS[state]
    if event not in arrows:
        raise IllegalTransition(state=state, event=event)
    return arrows[event]


def sources(event: Event) -> tuple[State, ...]:
    """Give every state that `event` may leave, in the order of the table."""
    return tuple(state for state, arrows in TRANSITIONS.items() if event in arrows)


def diagram() -> str:
    """Draw the table as a Mermaid state diagram, the one in docs/architecture.md."""
    lines = ["stateDiagram-v2"]
    lines += [f"    [*] --> {to}: {event}" for event, to in BIRTH.items()]
    for state, arrows in TRANSITIONS.items():
        lines += [f"    {state} --> {to}: {event}" for event, to in arrows.items()]
    return "\n".join(lines) + "\n"
