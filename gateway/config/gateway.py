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
