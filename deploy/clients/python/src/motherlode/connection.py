"""What both clients share: where the service is, who calls, and the channel's options."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass, field

import grpc

# A client that waits for its service should find it soon after it is back.
OPTIONS: tuple[tuple[str, int], ...] = (
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.initial_reconnect_backoff_ms", 50),
    ("grpc.min_reconnect_backoff_ms", 200),
    ("grpc.max_reconnect_backoff_ms", 1000),
    # Calls are asked again here, by the rules of request ids, and not by the channel as well.
    ("grpc.enable_retries", 0),
)


@dataclass(frozen=True)
class Target:
    """A service: `host:port`; TLS unless `plain`, with the machine's own authorities unless `ca` (PEM) is given; the token of a caller.

    Without TLS a token would be readable on the way, so `plain` is for loopback only.
    """

    address: str
    token: str = field(default="", repr=False)
    ca: bytes | None = None
    plain: bool = False

    def __post_init__(self) -> None:
        if self.plain and not is_loopback(self.address):
            raise ValueError(f"{self.address} is no address of this machine: it's called with TLS")
        if not self.token.isascii() or any(character.isspace() for character in self.token):
            raise ValueError("a token is one word in ASCII")

    def credentials(self) -> grpc.ChannelCredentials:
        return grpc.ssl_channel_credentials(self.ca)

    def metadata(self, given: Sequence[tuple[str, str | bytes]] | None) -> list[tuple[str, str | bytes]]:
        """A call's metadata with the token."""
        shown: list[tuple[str, str | bytes]] = [("authorization", f"Bearer {self.token}")] if self.token else []
        return [*(given or ()), *shown]


def is_loopback(address: str) -> bool:
    host = address.rpartition(":")[0].strip("[]")
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
