"""Exceptions for refused calls, with `google.rpc` details."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import grpc
from google.protobuf.message import DecodeError
from google.rpc import error_details_pb2, status_pb2

DOMAIN = "motherlode"
DETAILS = "grpc-status-details-bin"
# Beginnings of gRPC's error messages for calls that were not sent. After any other error message, the call's outcome is
# unknown.
NO_CONNECTION = ("failed to connect to all addresses", "errors resolving ", "DNS resolution failed")


class MotherlodeError(Exception):
    """`request_id` is empty for calls without a request id."""

    def __init__(self, message: str, request_id: str = "") -> None:
        super().__init__(message)
        self.request_id = request_id

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.args[0], self.request_id)


class Refused(MotherlodeError):
    """The call was refused, and this request has changed nothing.

    `reason` and `metadata` (of ErrorInfo) are empty if the service itself did not answer. `fields` maps each
    invalid field's name to its fault. `retry_after_s` is None if the service gave no delay.
    """

    def __init__(
        self,
        code: grpc.StatusCode,
        message: str,
        reason: str = "",
        metadata: Mapping[str, str] | None = None,
        fields: Mapping[str, str] | None = None,
        retry_after_s: float | None = None,
        request_id: str = "",
    ) -> None:
        super().__init__(f"{reason or code.name}: {message}", request_id)
        self.code = code
        self.message = message
        self.reason = reason
        self.metadata = dict(metadata or {})
        self.fields = dict(fields or {})
        self.retry_after_s = retry_after_s

    def __reduce__(self) -> tuple[Any, ...]:
        known = (self.code, self.message, self.reason, self.metadata, self.fields, self.retry_after_s, self.request_id)
        return type(self), known


class InvalidArgument(Refused):
    """Raised if a field is malformed, or the game does not offer the stake."""


class NotFound(Refused):
    """Raised if an account, round or game is unknown, or belongs to another operator."""


class AlreadyExists(Refused):
    """Raised if the object to be created already exists."""


class Conflict(AlreadyExists):
    """Raised if the request id was used for another request (REQUEST_ID_REUSED)."""


class FailedPrecondition(Refused):
    """Raised if the object's current state does not allow the call."""


class InsufficientFunds(FailedPrecondition):
    """Raised if the balance is below the bet or the withdrawal (INSUFFICIENT_FUNDS)."""


class PermissionDenied(Refused):
    """Raised if the credential lacks the role that the call requires."""


class Unauthenticated(Refused):
    """Raised if the token is missing, unknown or expired."""


class ResourceExhausted(Refused):
    """Raised if the operator has reached one of its limits."""


class Unavailable(Refused):
    """Raised if a read-only call got no answer from the service in time."""


class NotSent(Unavailable):
    """Raised if the call was never sent, because no connection could be opened or the client is closed."""


class OutcomeUnknown(MotherlodeError):
    """Raised if retries have ended, and the request may have been applied.

    To learn the outcome, repeat the request with the same `request_id`, or call `GetRequest`.
    """


BY_REASON: dict[str, type[Refused]] = {"REQUEST_ID_REUSED": Conflict, "INSUFFICIENT_FUNDS": InsufficientFunds}
BY_CODE: dict[grpc.StatusCode, type[Refused]] = {
    grpc.StatusCode.INVALID_ARGUMENT: InvalidArgument,
    grpc.StatusCode.NOT_FOUND: NotFound,
    grpc.StatusCode.ALREADY_EXISTS: AlreadyExists,
    grpc.StatusCode.FAILED_PRECONDITION: FailedPrecondition,
    grpc.StatusCode.PERMISSION_DENIED: PermissionDenied,
    grpc.StatusCode.UNAUTHENTICATED: Unauthenticated,
    grpc.StatusCode.RESOURCE_EXHAUSTED: ResourceExhausted,
    grpc.StatusCode.UNAVAILABLE: Unavailable,
    grpc.StatusCode.DEADLINE_EXCEEDED: Unavailable,
    grpc.StatusCode.CANCELLED: Unavailable,
}


def refusal_of(error: grpc.RpcError, request_id: str = "") -> Refused:
    """Converts a gRPC error (for example, the error of a stream) to a refusal."""
    code: grpc.StatusCode = getattr(error, "code", lambda: grpc.StatusCode.UNKNOWN)()
    message: str = getattr(error, "details", lambda: "")() or ""
    trailing = getattr(error, "trailing_metadata", lambda: ())() or ()
    info, fields, retry_after_s = details_of(next((value for key, value in trailing if key == DETAILS), b""))
    kind = BY_REASON.get(info.reason) or BY_CODE.get(code, Refused)
    if code is grpc.StatusCode.UNAVAILABLE and message.startswith(NO_CONNECTION) and not is_answered(error):
        kind = NotSent
    return kind(code, message, info.reason, info.metadata, fields, retry_after_s, request_id)


def is_answered(error: grpc.RpcError) -> bool:
    """Whether the status came from a server or proxy, not from the gRPC library."""
    report: str = getattr(error, "debug_error_string", lambda: "")() or ""
    return "from peer" in report or bool(getattr(error, "trailing_metadata", lambda: ())())


def details_of(packed: bytes) -> tuple[error_details_pb2.ErrorInfo, dict[str, str], float | None]:
    info, fields = error_details_pb2.ErrorInfo(), {}
    retry_after_s: float | None = None
    try:
        for detail in status_pb2.Status.FromString(packed).details:
            told, request, retry = error_details_pb2.ErrorInfo(), error_details_pb2.BadRequest(), error_details_pb2.RetryInfo()
            if detail.Unpack(told) and told.domain == DOMAIN:
                info = told
            elif detail.Unpack(request):
                fields = {violation.field: violation.description for violation in request.field_violations}
            elif detail.Unpack(retry):
                retry_after_s = max(0.0, retry.retry_delay.ToMilliseconds() / 1000)
    except DecodeError:
        # A proxy may attach details that cannot be parsed.
        pass
    return info, fields, retry_after_s
