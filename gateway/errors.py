"""The error tree: who is at fault, with the facts as attributes. No error ever carries message content."""


class GatewayError(Exception):
    """Root of every error the gateway raises on purpose."""


class PeerError(GatewayError):
    """The other side of a connection broke a rule."""


class OperatorError(GatewayError):
    """A person asked for something that cannot be done; the text says what and why."""


class ConfigError(OperatorError):
    """The configuration cannot be used; `problems` holds every reason, one line each."""

    def __init__(self, problems: tuple[str, ...]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


class BugError(GatewayError):
    """The gateway broke one of its own rules."""


class IllegalTransition(BugError):
    """An event met a state that the transition table does not let it leave."""

    def __init__(self, *, state: str | None, event: str) -> None:
        super().__init__(f"no transition from {state or 'birth'} on {event}")
        self.state = state
        self.event = event


class HeaderUnreadable(PeerError):
    """No usable MSH (HL7 ch. 2, 2.14.9): `reason` is a fixed phrase, never content."""

    def __init__(self, *, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class CharsetUnusable(PeerError):
    """The text cannot be carried or decoded; `reason` is a fixed phrase, never content."""

    def __init__(self, *, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class FrameInvalid(PeerError):
    """An upstream text frame is not a JSON object of a usable shape; `reason` is a fixed phrase."""

    def __init__(self, *, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class StoreError(GatewayError):
    """The store could not do what was asked; nothing of the unit was written."""


class StoreRefused(StoreError):
    """The store must not be opened as it is: `path` and `reason` say which file and why."""

    def __init__(self, *, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path
        self.reason = reason


class Unavailable(StoreError):
    """Temporary trouble: full, busy, stopping. The sender may try again later."""

    def __init__(self, *, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class StoreFailed(StoreError):
    """An I/O error or damage: nothing positive may be said any more and the process ends."""

    def __init__(self, *, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class StaleEpoch(StoreError):
    """A dispatcher that lost its lease tried to change state; its whole unit was undone."""

    def __init__(self, *, epoch: int) -> None:
        super().__init__(f"epoch {epoch} is over")
        self.epoch = epoch


class LeaseLost(GatewayError):
    """The lease was not renewed in time or is somebody else's: the dispatcher steps down."""

    def __init__(self, *, epoch: int, reason: str) -> None:
        super().__init__(f"epoch {epoch}: {reason}")
        self.epoch = epoch
        self.reason = reason


class LinkError(GatewayError):
    """The link to the server cannot carry this now."""


class NotLive(LinkError):
    """The link is not live: provably no byte of this send was handed to a socket."""


class ConnectFailed(LinkError):
    """One attempt to reach the server failed; `step` names where (dns, tcp, tls, http, auth, connect)."""

    def __init__(self, *, step: str, reason: str) -> None:
        super().__init__(f"{step}: {reason}")
        self.step = step
        self.reason = reason


class CannotListen(OperatorError):
    """A channel's address cannot be bound; `reason` is the system's own word for it."""

    def __init__(self, *, channel: str, address: str, port: int, reason: str) -> None:
        super().__init__(f"channel {channel}: cannot listen on {address} port {port}: {reason}")
        self.channel = channel
        self.address = address
        self.port = port
        self.reason = reason


class PortTaken(CannotListen):
    """Another program, or another channel, already listens on the channel's address and port."""

    def __init__(self, *, channel: str, address: str, port: int) -> None:
        super().__init__(channel=channel, address=address, port=port, reason="the port is taken")
