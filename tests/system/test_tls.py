"""A gateway with TLS as its users run it: from the keys of the file to the port, the renewal and the metric."""

import asyncio
import re
import shutil
import ssl
from pathlib import Path

import httpx

from tests.config.files import PAPERS, write_papers
from tests.system.site import Site, message
from tests.waiting import until_async

CHANNEL = """
tls.cert_file = "cert.pem"
tls.key_file = "key.pem"
tls.client_cert = "required"
tls.client_ca_file = "cert.pem"
tls.senders = [{ name = "lab", subject = "CN=localhost", msh3 = ["SNDAPP"] }]
max_message_bytes = 1048576
"""
GATEWAY = "[gateway]\nmax_connections = 2\nmax_buffered_bytes = 1048576"


async def ask(address: str, context: ssl.SSLContext, payload: bytes) -> bytes:
    """Send one message over TLS and give its answer."""
    host, _, port = address.rpartition(":")
    async with asyncio.timeout(10):
        reader, writer = await asyncio.open_connection(host, int(port), ssl=context, server_hostname="localhost")
        writer.write(b"\x0b" + payload + b"\x1c\r")
        answer = await reader.readuntil(b"\x1c\r")
        writer.close()
        await writer.wait_closed()
    return answer[1:-2]


async def test_the_keys_of_the_file_reach_the_port(site: Site, tmp_path: Path) -> None:
    write_papers(tmp_path)
    site.channel = CHANNEL
    await site.serve()
    config = site.config()
    config.write_text(config.read_text().replace("[gateway]", GATEWAY))
    gateway = await site.gateway(config)
    address = gateway.ready["channels"]["adt"]
    client = ssl.create_default_context(cafile=str(PAPERS / "server.pem"))
    client.load_cert_chain(PAPERS / "server.pem", PAPERS / "server.key")

    assert b"MSA|AA|T1" in await ask(address, client, message("T1"))
    assert b"MSA|AR|T2" in await ask(address, client, message("T2").replace(b"SNDAPP", b"OTHER"))
    rows = await site.settled(config, 2)
    assert sorted((row["state"], row["error_code"] or "") for row in rows) == [
        ("nacked", "not-allowed"),
        ("processed", ""),
    ]

    async with httpx.AsyncClient(base_url=f"http://{gateway.ready['metrics']}") as http:
        metrics = (await http.get("/metrics")).text
        found = re.search(r'hl7_gateway_certificate_expiry_seconds\{channel="adt",file="cert"\} (\S+)', metrics)
        assert found is not None
        assert float(found[1]) > 86_400
        assert 'hl7_gateway_certificate_expiry_seconds{channel="adt",file="client-ca"}' in metrics

        # gateway.max_connections counts the connections of every channel, also before their handshake.
        host, _, port = address.rpartition(":")
        silent = [await asyncio.open_connection(host, int(port)) for _ in range(3)]

        async def is_counted() -> bool:
            text = (await http.get("/metrics")).text
            return 'hl7_gateway_connections_refused_total{channel="adt",reason="gateway-limit"} 1.0' in text

        await until_async(is_counted, patience=10)
        for _, writer in silent:
            writer.close()

        # gateway.max_buffered_bytes: two frames that are never finished take more than all may.
        async def is_free() -> bool:
            return 'hl7_gateway_connections{channel="adt"} 0.0' in (await http.get("/metrics")).text

        await until_async(is_free, patience=10)
        giants = [
            await asyncio.open_connection(host, int(port), ssl=client, server_hostname="localhost") for _ in range(2)
        ]
        for _, writer in giants:
            writer.write(b"\x0bMSH|" + b"x" * 700_000)

        async def is_crowded_out() -> bool:
            return 'hl7_gateway_crowded_out_total{channel="adt"} 1.0' in (await http.get("/metrics")).text

        await until_async(is_crowded_out, patience=15)
        for _, writer in giants:
            writer.transport.abort()

    # Files that cannot be used any more leave the running gateway as it is, and are told of.
    shutil.copy(PAPERS / "other.pem", tmp_path / "cert.pem")
    assert b"MSA|AA|T3" in await ask(address, client, message("T3"))
    assert "certificates-unusable" in site.log.read_text()
    assert await gateway.stop() == 0
