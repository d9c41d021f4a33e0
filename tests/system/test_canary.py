"""No content of a message anywhere but in the store: a message whose every field is a marker goes through it all."""

from pathlib import Path

import httpx

from gateway.model.states import Landmark
from tests.processes import Program
from tests.system.site import Site, exchange

MARK = "CANARY"


def marked(control_id: str, *, broken: bool = False) -> bytes:
    """Make a message of which everything that may hold a person's data is a marker."""
    fields = [f"{MARK}{number}" for number in range(3, 8)]
    head = f"MSH|^~\\&|{'|'.join(fields)}|{MARK}8|{'' if broken else 'ADT^A01'}|{MARK}-{control_id}|P|2.5.1\r"
    segments = "".join(f"{name}|{'|'.join(f'{MARK}{n}' for n in range(1, 20))}\r" for name in ("EVN", "PID", "NK1"))
    return (head + segments).encode()


async def test_no_marker_reaches_log_metric_url_or_argument(site: Site) -> None:
    site.script = {
        f"{MARK}-AE": [{"ack": "AE"}, {}],
        f"{MARK}-AR": {"ack": "AR"},
        f"{MARK}-500": [{"statusCode": 500}, {}],
        f"{MARK}-MIS": {"msa2": "other"},
        f"{MARK}-CUT": [{"close": "after-storing"}, {}],
        f"{MARK}-ERR": [{"error": "callback"}, {}],
    }
    site.channel = "retry = { initial = 0.05, max = 0.1 }\n"
    await site.serve()
    config = site.config()
    gateway = await site.gateway(config)
    address = gateway.ready["channels"]["adt"]
    kinds = ("OK", "AE", "AR", "500", "MIS", "CUT", "ERR")
    await exchange(address, *(marked(kind) for kind in kinds))
    await exchange(address, marked("OK"))  # a retransmit
    await exchange(address, marked("OK") + b"ZZZ|" + MARK.encode())  # a collision
    await exchange(address, marked("BAD", broken=True))  # refused
    await exchange(address, MARK.encode() * 50)  # no header at all
    await site.settled(config, len(kinds))
    async with httpx.AsyncClient(base_url=f"http://{gateway.ready['metrics']}") as client:
        pages = [(await client.get(path)).text for path in ("/metrics", "/readyz", "/healthz")]
    arguments = (f"/proc/{gateway.process.pid}/cmdline", f"/proc/{gateway.process.pid}/environ")
    for text in (*pages, *(Path(path).read_text() for path in arguments), site.log.read_text()):
        assert MARK not in text
    assert await gateway.stop() == 0
    assert MARK not in site.log.read_text()


async def test_no_marker_is_in_the_traceback_of_a_crash(site: Site) -> None:
    await site.serve()
    config = site.config()
    ready = site.folder / "crash.ready"
    arguments = ["-m", "tests.system.crasher", str(config), str(ready), Landmark.AFTER_ANSWER_BEFORE_SETTLE]
    program = await Program.start(arguments, ready=ready, log=site.log)
    site.programs.append(program)
    await exchange(program.ready["channels"]["adt"], marked("OK"))
    assert await program.process.wait() == 3
    log = site.log.read_text()
    assert "ValueError" in log
    assert MARK not in log
