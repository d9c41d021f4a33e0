"""Temporary trouble, defects and refusals: an answer of the right code, and an audit row where one can be written."""

import asyncio
from collections.abc import Awaitable
from ipaddress import ip_network

import pytest

from gateway.errors import StoreFailed, Unavailable
from gateway.listener.options import AcceptOptions, AckOptions, ChannelOptions
from gateway.model.ids import RowId
from gateway.model.intake import Offer, Receipt, Refusal, Seal
from gateway.model.policy import AckMode, OnCollision, OnUnavailable
from gateway.model.states import ErrorCode
from tests.listener.stage import ADT, Full, LoopTime, SmallStore, f, fields, listening, m, msa


@pytest.mark.parametrize(
    ("mode", "unavailable", "code"),
    [
        (AckMode.COMMIT, OnUnavailable.AR, b"AR"),
        (AckMode.COMMIT, OnUnavailable.AE, b"AE"),
        (AckMode.APPLICATION, OnUnavailable.AR, b"AR"),
        (AckMode.ENHANCED, OnUnavailable.AR, b"CE"),
        (AckMode.ENHANCED, OnUnavailable.CLOSE, b"CE"),
    ],
)
async def test_temporary_trouble_is_answered_by_the_option_and_noted(
    mode: AckMode, unavailable: OnUnavailable, code: bytes
) -> None:
    store = SmallStore(trouble=Unavailable(reason="low-space"))
    options = ChannelOptions(name=ADT, ack=AckOptions(mode=mode, unavailable=unavailable))
    async with listening(store, options) as stage:
        sender = await stage.sender()
        answer = await sender.ask(m("A1"))
        assert msa(answer) == (code, b"A1")
        assert fields(answer, b"ERR")[3].startswith(b"207")
        store.trouble = None
        sender.say(f(m("A1")))
        await stage.notes.until(lambda: len(stage.notes.named("accepted")) == 1)
    (refusal,) = store.refusals
    assert (refusal.error_code, refusal.original, refusal.answer) == (ErrorCode.UNAVAILABLE, m("A1"), answer)


async def test_a_full_store_still_answers() -> None:
    async with listening(Full()) as stage:
        sender = await stage.sender()
        assert msa(await sender.ask(m("A1"))) == (b"AR", b"A1")
        assert msa(await sender.ask(b"nonsense")) == (b"AE", b"")
        assert len(stage.notes.named("refusal-not-recorded")) == 2


async def test_an_audit_row_that_hangs_does_not_hold_the_answer() -> None:
    class Hanging(SmallStore):
        async def refuse(self, refusal: Refusal) -> RowId:
            self.refusals.append(refusal)
            self.told()
            await asyncio.get_running_loop().create_future()
            raise AssertionError

    store = Hanging()
    asked = asyncio.Event()
    store.told = asked.set
    async with listening(store) as stage:
        time = LoopTime()
        sender = await stage.sender()
        sender.say(f(b"nonsense"))
        await asked.wait()
        time.move(2.1)
        assert msa(await sender.hear()) == (b"AE", b"")
        assert stage.notes.named("refusal-not-recorded") == [{"channel": "adt", "error": "TimeoutError"}]


@pytest.mark.parametrize("trouble", [StoreFailed(reason="io"), RuntimeError("a defect"), asyncio.CancelledError()])
async def test_no_failure_of_the_store_becomes_silence_or_a_positive_answer(trouble: BaseException) -> None:
    class Broken(SmallStore):
        def release(self, count: int | None = None) -> None:
            _, _, done = self.waiting.popleft()
            if isinstance(trouble, Exception):
                done.set_exception(trouble)
            else:
                done.cancel()

    async with listening(Broken()) as stage:
        sender = await stage.sender()
        assert msa(await sender.ask(m("A1"))) == (b"AR", b"A1")


async def test_a_store_that_refuses_at_the_call_is_answered_too() -> None:
    class Closed(SmallStore):
        def accept(self, offer: Offer, seal: Seal) -> Awaitable[Receipt]:
            raise Unavailable(reason="stopping")

    async with listening(Closed()) as stage:
        sender = await stage.sender()
        assert msa(await sender.ask(m("A1"))) == (b"AR", b"A1")


async def test_a_defect_in_reading_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> object:
        raise KeyError("a defect")

    monkeypatch.setattr("gateway.listener.reading.Reader.read", broken)
    async with listening(SmallStore()) as stage:
        sender = await stage.sender()
        assert msa(await sender.ask(m("A1"))) == (b"AR", b"")
        assert stage.notes.named("intake-failed") == [{"channel": "adt", "error": "KeyError"}]


@pytest.mark.parametrize(
    ("payload", "code", "condition", "error"),
    [
        (b"   ", b"AE", b"100", "bad-frame"),
        (b"PID|1", b"AE", b"100", "bad-header"),
        (b"MSHA^~\\&", b"AE", b"100", "bad-header"),
        (b"MSH||~\\&|A", b"AE", b"100", "bad-header"),
        (m("A1") + m("A2"), b"AE", b"100", "bad-frame"),
        (b"FHS|^~\\&|A\rNTE|1\r" + m("A1") + b"FTS|1\r", b"AE", b"100", "bad-frame"),
        (m(""), b"AE", b"101", "bad-header"),
        (m('""'), b"AE", b"101", "bad-header"),
        (m("A1").replace(b"ADT^A01^ADT_A01", b""), b"AE", b"101", "bad-header"),
        (m("A1").replace(b"ADT^A01^ADT_A01", b"^A01"), b"AE", b"101", "bad-header"),
        (m("A1").replace(b"|2.5.1", b"|2.5.1||||||UTF-16"), b"AE", b"102", "bad-encoding"),
        (m("A1").replace(b"|2.5.1", b"|2.5.1||||||UNICODE UTF-32"), b"AE", b"102", "bad-encoding"),
        (m("A1").replace(b"ADT^A01^ADT_A01", b"ORU^R01"), b"AR", b"200", "not-allowed"),
        (m("A1").replace(b"ADT^A01^ADT_A01", b"ADT^A40"), b"AR", b"201", "not-allowed"),
        (m("A1").replace(b"|P|", b"|T|"), b"AR", b"202", "not-allowed"),
        (m("A1").replace(b"|2.5.1", b"|2.2"), b"AR", b"203", "not-allowed"),
    ],
)
@pytest.mark.parametrize("mode", [AckMode.COMMIT, AckMode.APPLICATION, AckMode.ENHANCED])
async def test_a_frame_that_is_not_taken_is_answered_by_its_cause(
    payload: bytes, code: bytes, condition: bytes, error: str, mode: AckMode
) -> None:
    store = SmallStore()
    options = ChannelOptions(
        name=ADT,
        ack=AckOptions(mode=mode),
        accept=AcceptOptions(
            types=frozenset({"ADT^A01", "MDM"}), versions=frozenset({"2.5.1"}), processing_ids=frozenset({"P"})
        ),
    )
    async with listening(store, options) as stage:
        sender = await stage.sender()
        answer = await sender.ask(payload)
    assert store.offers == []
    found, _ = msa(answer)
    assert found == (code.replace(b"A", b"C", 1) if mode is AckMode.ENHANCED else code)
    version = fields(answer, b"MSH")[12]
    err = fields(answer, b"ERR")
    assert condition in (err[1] if version < b"2.5" else err[3])
    (refusal,) = store.refusals
    assert (refusal.error_code.value, refusal.answer) == (error, answer)


async def test_a_channel_that_takes_a_type_takes_all_its_events() -> None:
    store = SmallStore()
    options = ChannelOptions(name=ADT, accept=AcceptOptions(types=frozenset({"ADT"})))
    async with listening(store, options) as stage:
        sender = await stage.sender()
        assert msa(await sender.ask(m("A1")))[0] == b"AA"


async def test_undecodable_bytes_may_be_refused() -> None:
    store = SmallStore()
    async with listening(store, ChannelOptions(name=ADT, fallback_encoding="reject")) as stage:
        sender = await stage.sender()
        answer = await sender.ask(m("A1") + b"NTE|1||\xe9\r")
        assert msa(answer) == (b"AE", b"A1")
        assert fields(answer, b"ERR")[3].startswith(b"102")


async def test_an_acknowledgement_that_arrives_as_a_message_is_noted_and_not_answered() -> None:
    store = SmallStore()
    ack = m("A1").replace(b"ADT^A01^ADT_A01", b"ACK^A01") + b"MSA|AA|X\r"
    async with listening(store) as stage:
        sender = await stage.sender()
        sender.say(f(ack) + f(m("A2")))
        assert [msa(answer) for answer in await sender.finish()] == [(b"AA", b"A2")]
    (refusal,) = store.refusals
    assert (refusal.error_code, refusal.answer, refusal.original) == (ErrorCode.UNEXPECTED_ACK, b"", ack)


@pytest.mark.parametrize(
    ("policy", "codes", "rows"),
    [
        (OnCollision.REJECT, [b"AA", b"AR", b"AA"], 1),
        (OnCollision.ACCEPT, [b"AA", b"AA", b"AA"], 2),
        (OnCollision.QUARANTINE, [b"AA", b"AA", b"AA"], 2),
    ],
)
async def test_a_known_key_with_other_bytes_goes_by_the_channels_choice(
    policy: OnCollision, codes: list[bytes], rows: int
) -> None:
    store = SmallStore()
    async with listening(store, ChannelOptions(name=ADT, on_collision=policy)) as stage:
        sender = await stage.sender()
        answers = [await sender.ask(each) for each in (m("A1"), m("A1", patient="EVA"), m("A1"))]
    assert [msa(answer)[0] for answer in answers] == codes
    assert answers[0] == answers[2]
    assert len(store.rows) == rows


async def test_a_message_without_a_control_id_may_be_allowed_and_is_known_by_its_bytes() -> None:
    store = SmallStore()
    async with listening(store, ChannelOptions(name=ADT, require_control_id=False)) as stage:
        sender = await stage.sender()
        answers = [await sender.ask(each) for each in (m(""), m("", patient="EVA"), m(""))]
    assert [msa(answer) for answer in answers] == [(b"AA", b"")] * 3
    assert len(store.rows) == 2


async def test_a_peer_outside_the_networks_is_closed_before_a_byte_is_read() -> None:
    store = SmallStore()
    async with listening(store, ChannelOptions(name=ADT, allow=(ip_network("10.0.0.0/8"),))) as stage:
        sender = await stage.sender()
        sender.say(f(m("A1")))
        assert await sender.rest() == b""
        assert stage.notes.named("turned-away") == [{"channel": "adt", "peer": "127.0.0.1", "reason": "not-allowed"}]
        assert stage.listener.connections == 0
    assert store.offers == []


async def test_a_peer_inside_the_networks_is_served() -> None:
    networks = (ip_network("10.0.0.0/8"), ip_network("127.0.0.0/8"))
    async with listening(SmallStore(), ChannelOptions(name=ADT, allow=networks)) as stage:
        assert msa(await (await stage.sender()).ask(m("A1")))[0] == b"AA"


async def test_connections_beyond_the_limit_are_counted_and_closed_and_room_is_made_again() -> None:
    async with listening(SmallStore(), ChannelOptions(name=ADT, max_connections=2)) as stage:
        first, second = await stage.sender(), await stage.sender()
        await first.ask(m("A1"))
        await second.ask(m("A2"))
        third = await stage.sender()
        assert await third.rest() == b""
        assert [note["reason"] for note in stage.notes.named("turned-away")] == ["limit"]
        first.close()
        await stage.notes.until(lambda: bool(stage.notes.named("disconnected")))
        assert msa(await (await stage.sender()).ask(m("A3")))[0] == b"AA"


@pytest.mark.parametrize(
    ("hello", "reason"),
    [
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "looks-like-tls"),
        (b"GET / HTTP/1.1\r\n\r\n", "looks-like-http"),
        (b"POST /x HTTP/1.1\r\n\r\n", "looks-like-http"),
    ],
)
async def test_another_protocol_is_closed_at_once_and_named(hello: bytes, reason: str) -> None:
    async with listening(SmallStore()) as stage:
        sender = await stage.sender()
        sender.say(hello)
        assert await sender.rest() == b""
        await stage.notes.until(lambda: bool(stage.notes.named("disconnected")))
        assert stage.notes.named("disconnected")[0]["reason"] == reason
        assert [note["kind"] for note in stage.notes.anomalies] == [reason]
