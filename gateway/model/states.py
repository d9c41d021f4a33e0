"""The words of the state machine. Their values are the words in the database."""

from enum import StrEnum


class State(StrEnum):
    """Where a row stands on its way to the server (docs/architecture.md)."""

    QUEUED = "queued"
    CLAIMED = "claimed"
    INFLIGHT = "inflight"
    PROCESSED = "processed"
    REJECTED = "rejected"
    FAILED = "failed"
    DISCARDED = "discarded"
    NACKED = "nacked"


class Event(StrEnum):
    """What moves a row from one state to the next."""

    ACCEPTED = "accepted"
    REFUSED = "refused"
    QUARANTINED = "quarantined"
    CLAIMED = "claimed"
    SENT = "sent"
    RELEASED = "released"
    RETRY = "retry"
    DEFERRED = "deferred"
    EXHAUSTED = "exhausted"
    IN_DOUBT = "in-doubt"
    LATE_ACCEPT = "late-accept"
    LATE_REFUSAL = "late-refusal"
    REQUEUED = "requeued"
    RESOLVED = "resolved"
    DISCARDED = "discarded"


class Note(StrEnum):
    """What is worth an event row without moving any state."""

    RETRANSMITTED = "retransmitted"
    REPEAT_REFUSED = "repeat-refused"
    RECEIPT = "receipt"
    EVIDENCE = "evidence"
    ANSWER_DELIVERED = "answer-delivered"
    HALTED = "halted"
    RESUMED = "resumed"
    LEASE_TAKEN = "lease-taken"
    LEASE_RELEASED = "lease-released"
    POLICY_APPLIED = "policy-applied"
    SEQUENCE_SET = "sequence-set"
    SEQUENCE_LINK = "sequence-link"
    CAPTURE_ASKED = "capture-asked"
    CAPTURE_ENDED = "capture-ended"


class AnswerState(StrEnum):
    """The answer leg: what became of the application-level answer to the sender."""

    NOT_OWED = "not_owed"
    PENDING = "pending"
    DELIVERED = "delivered"
    UNDELIVERED = "undelivered"


class ErrorCode(StrEnum):
    """Why a row is not simply processed (PROTOCOL, section 2)."""

    SERVER_ERROR = "server-error"
    SERVER_BUSY = "server-busy"
    SERVER_REJECTED = "server-rejected"
    UPSTREAM_ERROR = "upstream-error"
    UPSTREAM_REJECTED = "upstream-rejected"
    ANSWER_MISMATCH = "answer-mismatch"
    TOO_LARGE_FOR_SERVER = "too-large-for-server"
    RESPONSE_TIMEOUT = "response-timeout"
    INTERRUPTED = "interrupted"
    RETRY_EXHAUSTED = "retry-exhausted"
    QUARANTINED = "quarantined"
    STORAGE_ERROR = "storage-error"
    DUPLICATE_REJECTED = "duplicate-rejected"
    OUT_OF_SEQUENCE = "out-of-sequence"
    BAD_FRAME = "bad-frame"
    BAD_HEADER = "bad-header"
    BAD_ENCODING = "bad-encoding"
    UNEXPECTED_ACK = "unexpected-ack"
    NOT_ALLOWED = "not-allowed"
    UNAVAILABLE = "unavailable"
    CORRUPT = "corrupt"
    DISCARDED = "discarded"


class Landmark(StrEnum):
    """Places on a message's way that a crash test can stop at."""

    AFTER_INSERT = "after-insert"
    AFTER_COMMIT_BEFORE_ACK = "after-commit-before-ack"
    AFTER_CLAIM = "after-claim"
    AFTER_INFLIGHT_BEFORE_WRITE = "after-inflight-before-write"
    AFTER_WRITE = "after-write"
    AFTER_ANSWER_BEFORE_SETTLE = "after-answer-before-settle"
    AFTER_SETTLE = "after-settle"
