"""Is this message new? Decided from what the store knows of its dedupe key, never from its content."""

from collections.abc import Collection
from typing import assert_never

from gateway.model.intake import Admission
from gateway.model.policy import OnCollision


def admit(*, sha256: bytes, known: Collection[bytes], on_collision: OnCollision) -> Admission:
    """Admit a message whose key has the fingerprints `known` (SHA-256 of the bytes seen under it).

    A known pair of key and bytes is a replay whatever the policy (INTAKE, section 5).
    """
    if sha256 in known:
        return Admission.REPLAY
    if not known:
        return Admission.NEW
    match on_collision:
        case OnCollision.REJECT:
            return Admission.COLLISION
        case OnCollision.ACCEPT:
            return Admission.NEW
        case OnCollision.QUARANTINE:
            return Admission.QUARANTINED
        case _:
            assert_never(on_collision)
