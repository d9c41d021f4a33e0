"""The transition table: what it allows, what it refuses, and that everything else is derived from it."""

from itertools import product

import pytest

from gateway.core.states import BIRTH, LIVE, SETTLED, TRANSITIONS, advance, diagram, sources
from gateway.errors import IllegalTransition
from gateway.model.states import Event, State

ARROWS = [(None, event, to) for event, to in BIRTH.items()] + [
    (state, event, to) for state, arrows in TRANSITIONS.items() for event, to in arrows.items()
]


@pytest.mark.parametrize(("state", "event", "to"), ARROWS)
def test_an_arrow_of_the_table_leads_where_it_says(state: State | None, event: Event, to: State) -> None:
    assert advance(state, event) is to


def test_every_pair_outside_the_table_is_refused() -> None:
    allowed = {(state, event) for state, event, _ in ARROWS}
    refused = 0
    for state, event in product([None, *State], Event):
        if (state, event) in allowed:
            continue
        with pytest.raises(IllegalTransition) as error:
            advance(state, event)
        assert (error.value.state, error.value.event) == (state, event)
        refused += 1
    assert refused == 9 * len(Event) - len(ARROWS)


def test_every_state_has_a_line_in_the_table() -> None:
    assert set(TRANSITIONS) == set(State)


def test_every_state_can_be_reached() -> None:
    assert {to for _, _, to in ARROWS} == set(State)


def test_live_and_settled_states_are_apart_and_only_an_audit_row_is_neither() -> None:
    assert not LIVE & SETTLED
    assert set(State) - LIVE - SETTLED == {State.NACKED}


def test_nothing_leaves_what_is_over() -> None:
    for state in (State.PROCESSED, State.DISCARDED, State.NACKED):
        assert not TRANSITIONS[state]


def test_only_a_person_brings_a_settled_row_back_into_the_queue() -> None:
    back = {event for state, event, to in ARROWS if state in SETTLED and to in LIVE}
    assert back == {Event.REQUEUED}


def test_nothing_is_inflight_without_having_been_claimed() -> None:
    assert [(state, event) for state, event, to in ARROWS if to is State.INFLIGHT] == [(State.CLAIMED, Event.SENT)]


def test_a_row_in_the_air_cannot_be_discarded_or_requeued() -> None:
    assert State.INFLIGHT not in sources(Event.DISCARDED)
    assert State.CLAIMED not in sources(Event.DISCARDED)
    assert sources(Event.REQUEUED) == (State.FAILED, State.REJECTED)


def test_the_diagram_shows_every_arrow_once() -> None:
    lines = diagram().splitlines()
    assert lines[0] == "stateDiagram-v2"
    assert len(lines) == len(set(lines)) == len(ARROWS) + 1
    assert "    claimed --> inflight: sent" in lines
    assert "    [*] --> nacked: refused" in lines
