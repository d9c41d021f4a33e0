"""Choices an administrator makes, as values. Their words are the words of the configuration file."""

from dataclasses import dataclass, field
from enum import StrEnum


class AckMode(StrEnum):
    """Who answers and when (INTAKE, section 3; HL7 ch. 2, 2.9)."""

    COMMIT = "commit"
    APPLICATION = "application"
    ENHANCED = "enhanced"
    AUTO = "auto"


class OnDeadline(StrEnum):
    """What an `application` sender gets when the server has not answered by the deadline."""

    AR = "ar"
    AE = "ae"
    AA = "aa"
    CLOSE = "close"


class OnUnavailable(StrEnum):
    """What a sender gets in temporary trouble."""

    AR = "AR"
    AE = "AE"
    CLOSE = "close"


class OnCollision(StrEnum):
    """What becomes of a known control id with other bytes."""

    REJECT = "reject"
    ACCEPT = "accept"
    QUARANTINE = "quarantine"


class OnFailedRetransmit(StrEnum):
    """What becomes of a row in review whose sender sends it again."""

    KEEP = "keep"
    REQUEUE = "requeue"


class OnRejected(StrEnum):
    """What a finally refused or exhausted row does to the rows behind it."""

    PARK = "park"
    HALT = "halt"


class OnAmbiguous(StrEnum):
    """What becomes of a row nobody can say about whether the server has it."""

    HOLD = "hold"
    HOLD_HALT = "hold-halt"
    RESEND = "resend"


class Framing(StrEnum):
    """How much the MLLP decoder forgives."""

    TOLERANT = "tolerant"
    STRICT = "strict"


class SequenceMode(StrEnum):
    """What happens to MSH-13 (INTAKE, section 6)."""

    OFF = "off"
    STAMP = "stamp"
    PROTOCOL = "protocol"


class BatchMode(StrEnum):
    """What happens to a frame with a batch header."""

    SPLIT = "split"
    WHOLE = "whole"
    REJECT = "reject"


class Profile(StrEnum):
    """Which conventions the server follows (PROTOCOL, section 2)."""

    GATEWAY = "gateway"
    MEDPLUM = "medplum"
    PLAIN = "plain"


class Strategy(StrEnum):
    """How the wait grows from attempt to attempt."""

    EXPONENTIAL = "exponential"
    LINEAR = "linear"


class RefusalVerdict(StrEnum):
    """What a negative application answer means."""

    RETRY = "retry"
    REJECT = "reject"


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """When a row is tried again, and when not any more. Times in milliseconds.

    `horizon` counts from the first write of the row's generation; `attempts` counts verdicts that count.
    """

    strategy: Strategy = Strategy.EXPONENTIAL
    initial: int = 1_000
    max: int = 60_000
    jitter: bool = True
    attempts: int = 10
    horizon: int = 86_400_000


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomePolicy:
    """What an outcome does to its partition; read live when the decision is made."""

    on_reject: OnRejected = OnRejected.PARK
    on_exhausted: OnRejected = OnRejected.PARK
    on_ambiguous: OnAmbiguous = OnAmbiguous.HOLD


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictPolicy:
    """How this server's answers are read."""

    profile: Profile = Profile.GATEWAY
    ar: RefusalVerdict = RefusalVerdict.REJECT
    ae: RefusalVerdict = RefusalVerdict.RETRY
    check_msa2: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryPolicy:
    """Everything one channel's delivery is told."""

    retry: RetryPolicy = field(default_factory=RetryPolicy)
    outcome: OutcomePolicy = field(default_factory=OutcomePolicy)
    verdict: VerdictPolicy = field(default_factory=VerdictPolicy)
    response_timeout: int = 60_000
    max_inflight: int = 1


class LogFormat(StrEnum):
    """How log lines look; `auto` is `console` on a terminal, else `json`."""

    AUTO = "auto"
    JSON = "json"
    CONSOLE = "console"


class LogLevel(StrEnum):
    """The least weight of an event that is written; lighter ones are only counted."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class ClientCert(StrEnum):
    """Whether a sender must show a certificate of its own."""

    NONE = "none"
    OPTIONAL = "optional"
    REQUIRED = "required"


class TlsVersion(StrEnum):
    """The oldest version of TLS that is spoken."""

    V1_2 = "1.2"
    V1_3 = "1.3"
