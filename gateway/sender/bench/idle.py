"""Suite `idle`: thousands of silent connections, and one sender that is answered all the same (B14)."""

import sys

from gateway.sender.bench import scrape
from gateway.sender.bench.options import BenchFailed
from gateway.sender.bench.programs import heard, helper, tell
from gateway.sender.bench.stage import Stage

NAME = "1 sender beside idle connections"
_SPARE = 64
_OPENING_PATIENCE = 300.0
_MIB = 1 << 20


def steps() -> int:
    """Count the steps the suite will tell of."""
    return 2


async def idle(stage: Stage) -> None:
    """Run the suite. Raises BenchFailed when the connections cannot all be opened."""
    wanted = stage.options.idle
    async with stage.site.gateway("idle", connections=min(65_535, wanted + _SPARE)) as gateway:
        stage.told(f"idle: {wanted} connections")
        host, port = gateway.targets[0]
        command = (sys.executable, "-m", "gateway.sender.bench.hold", host, str(port), str(wanted))
        async with helper(*command) as holder:
            held = int(await heard(holder, patience=_OPENING_PATIENCE))
            if held < wanted or scrape.total(await gateway.counters(), scrape.CONNECTIONS) < wanted:
                raise BenchFailed(f"{wanted} idle connections do not stay open here; see `ulimit -n`")
            stage.told(f"idle: {NAME}")
            await stage.sync_rate()
            load, cost = await stage.load(gateway, gateway.senders(1), seconds=stage.options.seconds)
            stage.ledger.trace(NAME).add(load.rate, cost, load=load, share=load.generator_share)
            stage.ledger.note("B14", gateway.vitals().peak / _MIB)
            stage.ledger.note("B14p", load.p99)
            await tell(holder, b"")
