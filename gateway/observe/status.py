"""The pages /metrics, /healthz and /readyz as an ASGI application. Never shows message content, never hangs."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from prometheus_client.exposition import choose_encoder

from gateway.model.review import ChannelSummary
from gateway.observe.facts import safe_value
from gateway.observe.observatory import Observatory
from gateway.observe.snapshot import Gauges, Scrape, Summaries

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

Readiness = Callable[[], Mapping[str, str | None]]
"""What must be so before traffic may come, each with the reason why it is not (None: it is)."""

Health = Callable[[], str | None]
"""Why this process should be ended and started again; None while it is well."""

PATIENCE = 2.0
"""Seconds the store may take before the page goes out without it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One answer, whole."""

    status: int
    content_type: str
    body: bytes


class StatusPages:
    """Answers GET and HEAD on the three paths."""

    def __init__(
        self,
        observatory: Observatory,
        *,
        readiness: Readiness,
        summaries: Summaries,
        gauges: Callable[[], Gauges],
        health: Health,
    ) -> None:
        self._observatory = observatory
        self._readiness = readiness
        self._summaries = summaries
        self._gauges = gauges
        self._health = health
        self._paths = {"/metrics": self._metrics, "/healthz": self._healthz, "/readyz": self._readyz}

    async def __call__(self, scope: Scope, _receive: Receive, send: Send) -> None:
        """Serve one request (ASGI 3)."""
        if scope["type"] != "http":
            return
        page = await self._page(scope)
        headers = [
            (b"content-type", page.content_type.encode()),
            (b"content-length", str(len(page.body)).encode()),
            (b"cache-control", b"no-store"),
            (b"x-content-type-options", b"nosniff"),
        ]
        body = b"" if scope["method"] == "HEAD" else page.body
        await send({"type": "http.response.start", "status": page.status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    async def _page(self, scope: Scope) -> Page:
        write = self._paths.get(scope["path"])
        if write is None:
            return _json(404, {"error": "there is /metrics, /healthz and /readyz"})
        if scope["method"] not in {"GET", "HEAD"}:
            return _json(405, {"error": "GET or HEAD only"})
        try:
            return await write(scope)
        except Exception as error:  # noqa: BLE001 - the page must not show, nor the server log, a foreign error's text
            self._observatory.error("status-page-failed", error)
            return _json(500, {"error": "see the log"})

    async def _metrics(self, scope: Scope) -> Page:
        accept = next((value for name, value in scope["headers"] if name == b"accept"), b"")
        encode, content_type = choose_encoder(accept.decode("latin-1"))
        scrape = Scrape(
            self._observatory.metrics.registry,
            gauges=self._gauges(),
            channels=await self._channels(),
            wall=self._observatory.now().wall,
        )
        return Page(status=200, content_type=content_type, body=encode(scrape))

    async def _healthz(self, _: Scope) -> Page:
        reason = safe_value(self._health())
        return _json(200 if reason is None else 503, {"healthy": reason is None, "reason": reason})

    async def _readyz(self, _: Scope) -> Page:
        checks = {name: safe_value(reason) for name, reason in self._readiness().items()}
        ready = self._health() is None and not any(reason is not None for reason in checks.values())
        gauges = self._gauges()
        about = {"ready": ready, "checks": checks, "links": dict(gauges.links), "leading": dict(gauges.leading)}
        return _json(200 if ready else 503, about)

    async def _channels(self) -> Sequence[ChannelSummary] | None:
        try:
            async with asyncio.timeout(PATIENCE):
                return await self._summaries()
        except Exception as error:  # noqa: BLE001 - a page without gauges still tells that the process lives
            self._observatory.error("store-unreadable", error)
            return None


def _json(status: int, value: Mapping[str, object]) -> Page:
    return Page(status=status, content_type="application/json", body=orjson.dumps(value) + b"\n")
