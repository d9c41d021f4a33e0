"""[[channel]]: one listener and the way of its messages."""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, PlainSerializer, ValidationInfo, field_validator

from gateway.config.channel_tables import Accept, Ack, Dedupe, Retry
from gateway.config.channel_tls import ChannelTls
from gateway.config.values import (
    Count,
    Encoding,
    EventName,
    FieldPath,
    Flag,
    Listen,
    Name,
    Network,
    Rate,
    Seconds,
    Table,
)
from gateway.model.ids import ChannelName
from gateway.model.policy import Framing, OnAmbiguous, OnRejected, OutcomePolicy, SequenceMode

BARRIERS = tuple(f"ADT^A{event}" for event in (17, 18, 24, 30, 34, 35, 36, 37, *range(39, 52)))
"""Events that move or merge patients, visits or beds (HL7 ch. 3): everything before them must be settled."""


def _order(value: object) -> object:
    """Read `channel` as the empty list of key fields."""
    if value == "channel":
        return ()
    if isinstance(value, str) or value in ((), []):
        raise ValueError('must be "channel" or a list of fields such as ["PID-3.1"]')
    return value


OrderBy = Annotated[
    tuple[FieldPath, ...],
    BeforeValidator(_order, json_schema_input_type=Literal["channel"] | list[str]),
    PlainSerializer(lambda fields: list(fields) or "channel"),
]


class Channel(Table):
    """[[channel]]: one listener, one order, one upstream."""

    name: Name = Field(
        description="Name of the channel; its rows and counters belong to it for ever.", examples=["adt"]
    )
    listen: Listen = Field(
        description="HOST:PORT of the MLLP listener; port 0 picks a free one.", examples=["127.0.0.1:2575"]
    )
    insecure_plaintext: Flag = Field(
        default=False,
        description="Allow plain text beyond this machine, without `tls`; patient data crosses the network readable.",
        examples=[False],
    )
    tls: ChannelTls | None = Field(default=None, description="How it speaks TLS. Not set: plain text.")
    allow: tuple[Network, ...] = Field(
        default=(),
        description="Addresses and networks that may connect; empty: all. Others are closed before reading.",
        examples=[["10.1.0.0/16"]],
    )
    upstream: Name = Field(description="The [[upstream]] its messages go to.", examples=["main"])
    sequence: SequenceMode = Field(
        default=SequenceMode.OFF,
        description="MSH-13: `off` leaves it, `stamp` numbers the copies sent upstream 1, 2, 3 ... without gaps, "
        "`protocol` takes from each sender (MSH-3 and MSH-4) its next number only and tells it in MSA-4 (HL7 ch. 2, "
        "2.10.1); an answer of the server, as in `ack.mode` `application`, is passed on as it is.",
        examples=["stamp"],
    )
    ack: Ack = Field(default_factory=Ack, description="Who answers the sender, and when.")
    dedupe: Dedupe = Field(default_factory=Dedupe, description="How a retransmit is known.")
    require_control_id: Flag = Field(
        default=True, description="Refuse a message without MSH-10 (AE, ERR 101).", examples=[True]
    )
    accept: Accept = Field(default_factory=Accept, description="Which messages are taken.")
    encoding: Encoding | None = Field(
        default=None, description="Read every message in this encoding, whatever MSH-18 says.", examples=["8859/1"]
    )
    default_encoding: Encoding = Field(
        default="utf-8", description="Encoding of messages whose MSH-18 is empty.", examples=["utf-8"]
    )
    fallback_encoding: Literal["windows-1252", "reject"] = Field(
        default="windows-1252",
        description="For bytes that do not fit their encoding: read as windows-1252 and flagged, or refused (AE, 102).",
        examples=["windows-1252"],
    )
    order_by: OrderBy = Field(
        default=(),
        max_length=4,
        description='"channel": strictly in order of arrival. A list of fields: in order within one value of them.',
        examples=["channel"],
    )
    max_inflight: Count = Field(
        default=1,
        ge=1,
        le=64,
        description="Sends in flight at once, across partitions; more than 1 needs `order_by` fields.",
        examples=[1],
    )
    order_barrier: tuple[EventName, ...] = Field(
        default=BARRIERS,
        description="Messages that go alone, when every earlier one of the channel is settled.",
        examples=[["ADT^A34", "ADT^A40"]],
    )
    retry: Retry = Field(default_factory=Retry, description="When a delivery is tried again.")
    on_reject: OnRejected = Field(
        default=OnRejected.PARK,
        description="After a refused row: `park` it and go on, or `halt` its partition until a person decides.",
        examples=["park"],
    )
    on_exhausted: OnRejected = Field(
        default=OnRejected.PARK, description="The same for a row whose tries are used up.", examples=["park"]
    )
    on_ambiguous: OnAmbiguous = Field(
        default=OnAmbiguous.HOLD,
        description="A row that may or may not have arrived: `hold` it for review, `hold-halt` its partition too, or "
        "`resend` it at the risk of a second delivery.",
        examples=["hold"],
    )
    framing: Framing = Field(
        default=Framing.TOLERANT,
        description="`tolerant` skips and counts stray bytes, `strict` closes the connection on them.",
        examples=["tolerant"],
    )
    max_message_bytes: Count = Field(
        default=16 << 20,
        ge=1 << 10,
        le=256 << 20,
        description="Longest frame taken; a longer one is answered AE and its connection closed.",
        examples=[16_777_216],
    )
    max_connections: Count = Field(
        default=256, ge=1, le=65_535, description="Connections at once; more are counted and closed.", examples=[256]
    )
    max_connections_per_address: Count = Field(
        default=128,
        ge=1,
        le=65_535,
        description="Connections at once from one IPv4 address, or one /64 network of IPv6; more are counted and "
        "closed.",
        examples=[128],
    )
    max_pipelined: Count = Field(
        default=64,
        ge=1,
        le=10_000,
        description="Unanswered frames of one connection before reading pauses.",
        examples=[64],
    )
    rate_limit: Rate = Field(
        default=0.0,
        ge=0,
        le=100_000,
        description="Messages taken a second; beyond it reading pauses, then senders hear `ack.unavailable`. 0: none.",
        examples=[0],
        json_schema_extra={"unit": "messages per second"},
    )
    idle_timeout: Seconds = Field(
        default=0.0,
        ge=0,
        le=604_800,
        description="Seconds without a byte between frames after which a connection is closed; 0: never.",
        examples=[0],
    )
    frame_timeout: Seconds = Field(
        default=30.0,
        gt=0,
        le=3600,
        description="Seconds without a new byte inside a frame after which the connection is closed.",
        examples=[30],
    )

    @property
    def channel_name(self) -> ChannelName:
        """The name, typed."""
        return ChannelName(self.name)

    def outcome_policy(self) -> OutcomePolicy:
        """Give what an outcome does to its partition."""
        return OutcomePolicy(on_reject=self.on_reject, on_exhausted=self.on_exhausted, on_ambiguous=self.on_ambiguous)

    @field_validator("max_inflight")
    @classmethod
    def _parallel_needs_keys(cls, most: int, info: ValidationInfo) -> int:
        # A wrong order_by is not in the data and speaks for itself.
        if most > 1 and not info.data.get("order_by", True):
            raise ValueError('above 1 needs order_by fields, as in order_by = ["PID-3.1"]')
        return most
