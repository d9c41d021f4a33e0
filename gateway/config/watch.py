"""[metrics] and [log]: how the gateway is watched."""

from pydantic import Field

from gateway.config.address import Address
from gateway.config.values import Listen, Table
from gateway.model.policy import LogFormat, LogLevel


class Metrics(Table):
    """[metrics]: the status server."""

    listen: Listen = Field(
        default=Address(host="127.0.0.1", port=9575),
        description="Where /metrics, /healthz and /readyz are served, in plain HTTP; they hold no message content.",
        examples=["127.0.0.1:9575"],
    )


class Log(Table):
    """[log]: lines on standard error."""

    format: LogFormat = Field(
        default=LogFormat.AUTO,
        description="`json`: one object a line; `console`: for eyes; `auto`: `console` on a terminal, else `json`.",
        examples=["auto"],
    )
    level: LogLevel = Field(
        default=LogLevel.INFO,
        description="Events below this level are counted but not written.",
        examples=["info"],
    )
