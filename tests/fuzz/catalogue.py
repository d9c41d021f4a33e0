"""Every fuzz target. Imported by the fuzzer with the gateway instrumented, and by the tests without."""

from tests.fuzz.target import Target
from tests.fuzz.targets import acks, batches, charsets, config, decoder, header, server_side, stamps, upstream

TARGETS: tuple[Target, ...] = (
    decoder.TARGET,
    header.TARGET,
    charsets.TARGET,
    acks.TARGET,
    stamps.TARGET,
    batches.TARGET,
    upstream.TARGET,
    server_side.TARGET,
    config.TARGET,
)


def by_name(name: str) -> Target:
    """Give the target of that name. Raises KeyError."""
    return {target.name: target for target in TARGETS}[name]
