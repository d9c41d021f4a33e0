"""What the dispatcher of one group is told."""

from dataclasses import dataclass

from gateway.model.ids import ChannelName
from gateway.model.policy import DeliveryPolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelDelivery:
    """One channel's delivery: its name and its policy."""

    name: ChannelName
    policy: DeliveryPolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class DispatchOptions:
    """One dispatch group (= one upstream). `ttl` is the lease's life in ms; `holder` is random per process start.

    `page` is how many heads are read at a time, `window` how many are kept in memory at most while nothing is ready;
    `status_every` is the wait in seconds before a row the server calls `running` is asked about again.
    """

    group: str
    agent_id: str
    holder: str
    ttl: int
    channels: tuple[ChannelDelivery, ...]
    page: int = 256
    window: int = 10_000
    status_every: float = 5.0
