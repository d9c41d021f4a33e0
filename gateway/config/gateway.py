"""[gateway], [store] and [lease]: what belongs to the process as a whole."""

from pathlib import Path

from pydantic import Field

from gateway.config.values import Count, Location, Name, Seconds, Table


class Gateway(Table):
    """[gateway]: where it writes and how it ends."""

    data_dir: Location = Field(
        default=Path("var"),
        description="Folder of everything the gateway writes; made with mode 0700.",
        examples=["var"],
    )
    node_name: Name | None = Field(
        default=None,
        description="Name of this process among several, shown to people as lease holder. Not set: the host's name.",
        examples=["gw-a"],
    )
    shutdown_grace: Seconds = Field(
        default=20.0,
        gt=0,
        le=3600,
        description="Seconds a stop may take to answer what was read and to settle what is in flight.",
        examples=[20],
    )
    max_connections: Count = Field(
        default=4_096,
        ge=1,
        le=1_000_000,
        description="Connections of senders at once, all channels together; more are counted and closed.",
        examples=[4_096],
    )
    max_buffered_bytes: Count = Field(
        default=64 << 20,
        ge=1 << 20,
        le=1 << 40,
        description="Bytes of received frames in memory, all channels together. Beyond it frames that are larger than "
        "16 KiB are not read on; after 5 s, or at 1.25 times as much, their connections are closed.",
        examples=[67_108_864],
    )


class Store(Table):
    """[store]: the durable queue in data_dir."""

    low_space: Count = Field(
        default=268_435_456,
        ge=16_777_216,
        le=1 << 50,
        description="Bytes that must stay free on the disk of data_dir; below it intake is closed, delivery goes on.",
        examples=[268_435_456],
    )


class Lease(Table):
    """[lease]: who dispatches when several processes share a store."""

    ttl: Seconds = Field(
        default=15.0,
        ge=1,
        le=300,
        description="Seconds a lease lives without renewal; after a kill another process takes over this much later.",
        examples=[15],
    )
