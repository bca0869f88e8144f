"""Clients of a Motherlode service: the synchronous `Client`, and `AsyncClient` for asyncio."""

from motherlode.aio import AsyncClient
from motherlode.client import Client
from motherlode.connection import Target
from motherlode.errors import (
    AlreadyExists,
    Conflict,
    FailedPrecondition,
    InsufficientFunds,
    InvalidArgument,
    MotherlodeError,
    NotFound,
    NotSent,
    OutcomeUnknown,
    PermissionDenied,
    Refused,
    ResourceExhausted,
    Unauthenticated,
    Unavailable,
    refusal_of,
)
from motherlode.retry import Policy, new_request_id

__all__ = [
    "AlreadyExists",
    "AsyncClient",
    "Client",
    "Conflict",
    "FailedPrecondition",
    "InsufficientFunds",
    "InvalidArgument",
    "MotherlodeError",
    "NotFound",
    "NotSent",
    "OutcomeUnknown",
    "PermissionDenied",
    "Policy",
    "Refused",
    "ResourceExhausted",
    "Target",
    "Unauthenticated",
    "Unavailable",
    "new_request_id",
    "refusal_of",
]
