"""The tables inside a channel: ack, dedupe, accept, retry."""

from pydantic import Field, ValidationInfo, field_validator

from gateway.config.values import DAY, YEAR, Count, EventName, Flag, MshPath, Seconds, Table, Word
from gateway.model.policy import (
    AckMode,
    OnCollision,
    OnDeadline,
    OnFailedRetransmit,
    OnUnavailable,
    RetryPolicy,
    Strategy,
)


class Ack(Table):
    """Who answers the sender, and when."""

    mode: AckMode = Field(
        default=AckMode.COMMIT,
        description="`commit`: AA once durable. `application`: the server's own answer. `enhanced`: CA at once, then "
        "the server's answer by MSH-16. `auto`: as MSH-15 and MSH-16 of each message ask.",
        examples=["commit"],
    )
    deadline: Seconds = Field(
        default=30.0,
        gt=0,
        le=3600,
        description="Seconds an `application` sender waits for the server's answer.",
        examples=[30],
    )
    on_deadline: OnDeadline = Field(
        default=OnDeadline.AR,
        description="What it gets then: that code, or the connection is closed. A retransmit still gets the real one.",
        examples=["ar"],
    )
    unavailable: OnUnavailable = Field(
        default=OnUnavailable.AR,
        description="What a sender gets in temporary trouble (storage, space, load, stopping).",
        examples=["AR"],
    )


class Dedupe(Table):
    """How a retransmit is known."""

    key: tuple[MshPath, ...] = Field(
        default=("MSH-3", "MSH-4", "MSH-10"),
        min_length=1,
        max_length=8,
        description="Fields that tell messages of this channel apart; MSH-10 is one of them.",
        examples=[["MSH-3", "MSH-4", "MSH-10"]],
    )
    window: Seconds = Field(
        default=14 * DAY,
        ge=60,
        le=10 * YEAR,
        description="Seconds a retransmit is still known, counted from when its message was settled.",
        examples=[1_209_600],
    )
    on_collision: OnCollision = Field(
        default=OnCollision.REJECT,
        description="A known key with other bytes: `reject` it, `accept` it as new, or `quarantine` it for review.",
        examples=["reject"],
    )
    on_failed_retransmit: OnFailedRetransmit = Field(
        default=OnFailedRetransmit.KEEP,
        description="A retransmit of a row in review is always answered as stored and flags the row. `requeue` also "
        "queues the row again if all that its sends met was trouble of the server (error code `retry-exhausted`, no "
        "attempt counted, never in doubt); `keep` leaves that to a person.",
        examples=["keep"],
    )

    @field_validator("key")
    @classmethod
    def _names_the_control_id(cls, key: tuple[str, ...]) -> tuple[str, ...]:
        if "MSH-10" not in key:
            raise ValueError("must hold MSH-10, else different messages of one sender count as retransmits")
        return key


class Accept(Table):
    """Which messages are taken; an empty list takes all."""

    types: tuple[EventName, ...] = Field(
        default=(), description="MSH-9 values taken, as type or type and event; else AR.", examples=[["ADT^A01", "ORU"]]
    )
    versions: tuple[Word, ...] = Field(
        default=(), description="MSH-12 values taken; else AR.", examples=[["2.3", "2.5.1"]]
    )
    processing_ids: tuple[Word, ...] = Field(default=(), description="MSH-11 values taken; else AR.", examples=[["P"]])


class Retry(Table):
    """When a delivery is tried again, and when not any more."""

    strategy: Strategy = Field(
        default=Strategy.EXPONENTIAL,
        description="How the wait grows: doubled each time, or by `initial` each time (`linear`).",
        examples=["exponential"],
    )
    initial: Seconds = Field(default=1.0, ge=0.01, le=3600, description="Seconds before the second try.", examples=[1])
    max: Seconds = Field(
        default=60.0,
        ge=0.01,
        le=DAY,
        validate_default=True,  # so that a longer `initial` alone is noticed
        description="Longest wait in seconds.",
        examples=[60],
    )
    jitter: Flag = Field(
        default=True,
        description="Take a random half off each wait, so that gateways do not retry in step.",
        examples=[True],
    )
    attempts: Count = Field(
        default=10, ge=1, le=1_000_000, description="Counted tries before a row goes into review.", examples=[10]
    )
    horizon: Seconds = Field(
        default=DAY,
        ge=1,
        le=YEAR,
        description="Seconds after its first send at which a row goes into review whatever its attempts.",
        examples=[86_400],
    )

    def policy(self) -> RetryPolicy:
        """Give the policy in milliseconds."""
        return RetryPolicy(
            strategy=self.strategy,
            initial=round(self.initial * 1000),
            max=round(self.max * 1000),
            jitter=self.jitter,
            attempts=self.attempts,
            horizon=round(self.horizon * 1000),
        )

    @field_validator("max")
    @classmethod
    def _grows(cls, longest: float, info: ValidationInfo) -> float:
        if info.data.get("initial", 0.0) > longest:
            raise ValueError("must not be shorter than retry.initial")
        return longest
