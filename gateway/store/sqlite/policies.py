"""Retry policies as immutable rows, each stored once. Knows both ways: value to number, number to value."""

from hashlib import sha256

import apsw

from gateway.model.policy import RetryPolicy, Strategy
from gateway.store.sqlite.statements import ask, named

Q = named("outbox")


def digest(policy: RetryPolicy) -> bytes:
    """Name a policy by its content."""
    words = (policy.strategy, policy.initial, policy.max, int(policy.jitter), policy.attempts, policy.horizon)
    return sha256("|".join(map(str, words)).encode("ascii")).digest()


def freeze(db: apsw.Connection, policy: RetryPolicy) -> int:
    """Give the number of a policy, storing it first if need be; inside the caller's transaction."""
    name = digest(policy)
    found = ask(db, Q["known_policy"], (name,))
    if found:
        return int(found[0][0])
    db.execute(
        Q["insert_policy"],
        (
            name,
            policy.strategy,
            policy.initial,
            policy.max,
            int(policy.jitter),
            policy.attempts,
            policy.horizon,
        ),
    )
    return db.last_insert_rowid()


class Policies:
    """What this process knows of stored policies. A number, once read, always means the same."""

    def __init__(self) -> None:
        self._numbers: dict[RetryPolicy, int] = {}
        self._values: dict[int, RetryPolicy] = {}

    def number(self, policy: RetryPolicy) -> int | None:
        """Give the number of a policy known to be committed."""
        return self._numbers.get(policy)

    def learn(self, policy: RetryPolicy, number: int) -> None:
        """Note a committed policy."""
        self._numbers[policy] = number
        self._values[number] = policy

    def read(self, db: apsw.Connection, number: int) -> RetryPolicy:
        """Give the policy of a number; on the writer's connection it may be one not committed yet."""
        known = self._values.get(number)
        if known is not None:
            return known
        strategy, initial, longest, jitter, attempts, horizon = ask(db, Q["policy"], (number,))[0]
        policy = RetryPolicy(
            strategy=Strategy(strategy),
            initial=initial,
            max=longest,
            jitter=bool(jitter),
            attempts=attempts,
            horizon=horizon,
        )
        if not db.in_transaction:
            self._values[number] = policy
        return policy
