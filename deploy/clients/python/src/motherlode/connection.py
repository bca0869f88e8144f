from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass, field

import grpc

# Reconnects soon after the service is back; `motherlode.retry` retries calls.
OPTIONS: tuple[tuple[str, int], ...] = (
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.initial_reconnect_backoff_ms", 50),
    ("grpc.min_reconnect_backoff_ms", 200),
    ("grpc.max_reconnect_backoff_ms", 1000),
    ("grpc.enable_retries", 0),
)


@dataclass(frozen=True)
class Target:
    """Service at `host:port` with TLS (`ca` in PEM, or the system's); `plain` exposes the token: loopback only."""

    address: str
    token: str = field(default="", repr=False)
    ca: bytes | None = None
    plain: bool = False

    def __post_init__(self) -> None:
        if self.plain and not is_loopback(self.address):
            raise ValueError(f"{self.address} is not a loopback address: use TLS")
        if not self.token.isascii() or any(character.isspace() for character in self.token):
            raise ValueError("the token has whitespace or non-ASCII characters")

    def credentials(self) -> grpc.ChannelCredentials:
        return grpc.ssl_channel_credentials(self.ca)

    def metadata(self, given: Sequence[tuple[str, str | bytes]] | None) -> list[tuple[str, str | bytes]]:
        shown: list[tuple[str, str | bytes]] = [("authorization", f"Bearer {self.token}")] if self.token else []
        return [*(given or ()), *shown]


def is_loopback(address: str) -> bool:
    host = address.rpartition(":")[0].strip("[]")
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
