from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass, field

import grpc

# The keepalive pings detect a silent connection, which is replaced within 8 s. gRPC's retries are off, because
# `motherlode.retry` retries calls.
OPTIONS: tuple[tuple[str, int | str], ...] = (
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.initial_reconnect_backoff_ms", 50),
    # Maximum time to open a connection.
    ("grpc.min_reconnect_backoff_ms", 3000),
    ("grpc.max_reconnect_backoff_ms", 1000),
    ("grpc.enable_retries", 0),
    ("grpc.keepalive_time_ms", 4000),
    ("grpc.keepalive_timeout_ms", 4000),
    ("grpc.http2.ping_timeout_ms", 4000),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.max_pings_without_data", 0),
)


@dataclass(frozen=True)
class Target:
    """Address (`host:port`) of a service, and the credentials for it.

    `ca` (default: the system's), `certificate` and `key` are in PEM.
    `plain` connects without TLS, which exposes the token; an address other than loopback also needs `plain_remote`.
    gRPC `options` override the client's defaults.
    """

    address: str
    token: str = field(default="", repr=False)
    ca: bytes | None = None
    plain: bool = False
    plain_remote: bool = False
    certificate: bytes | None = None
    key: bytes | None = field(default=None, repr=False)
    options: Sequence[tuple[str, int | str]] = ()

    def __post_init__(self) -> None:
        if self.plain and not self.plain_remote and not is_loopback(self.address):
            raise ValueError(f"{self.address} is not a loopback address: use TLS, or plain_remote=True")
        if self.plain and (self.ca or self.certificate or self.key):
            raise ValueError("a plain connection has no certificates")
        if (self.certificate is None) != (self.key is None):
            raise ValueError("a client certificate needs both certificate and key")
        # Tokens read from files may end with a newline.
        object.__setattr__(self, "token", self.token.strip())
        if not self.token.isascii() or any(character.isspace() for character in self.token):
            raise ValueError("the token has whitespace or non-ASCII characters")

    def channel_options(self) -> list[tuple[str, int | str]]:
        return list({**dict(OPTIONS), **dict(self.options)}.items())

    def credentials(self) -> grpc.ChannelCredentials:
        return grpc.ssl_channel_credentials(self.ca, self.key, self.certificate)

    def metadata(self, given: Sequence[tuple[str, str | bytes]] | None) -> list[tuple[str, str | bytes]]:
        shown: list[tuple[str, str | bytes]] = [("authorization", f"Bearer {self.token}")] if self.token else []
        return [*(given or ()), *shown]


def is_loopback(address: str) -> bool:
    host = address.rpartition(":")[0].strip("[]")
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
