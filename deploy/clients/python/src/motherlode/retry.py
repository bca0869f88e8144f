"""Retry rules without I/O. All attempts of a call share one request id and message, so the call has one effect (PL-11)."""

from __future__ import annotations

import random
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import grpc

from motherlode.errors import NotSent, OutcomeUnknown, Refused

# Statuses that can mean a lost answer. A connection that breaks during an answer can appear as CANCELLED, UNKNOWN
# or INTERNAL. If the service itself returns one of these statuses, the error has a reason.
LOST = frozenset(
    {
        grpc.StatusCode.UNAVAILABLE,
        grpc.StatusCode.DEADLINE_EXCEEDED,
        grpc.StatusCode.CANCELLED,
        grpc.StatusCode.UNKNOWN,
        grpc.StatusCode.INTERNAL,
    }
)
# Statuses that the service returns before it checks the request id, so an earlier attempt may have been applied.
AT_THE_DOOR = frozenset(
    {grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.PERMISSION_DENIED, grpc.StatusCode.RESOURCE_EXHAUSTED}
)
# Calls that are safe to repeat without a request id.
REPEATABLE = ("Get", "List", "Read", "CloseSession", "CancelJob", "AcknowledgeRealityCheck", "RunSelfCheck")
# Calls whose `request_id` names an earlier request.
LOOK_UPS = ("Get", "List", "CancelRequest")


def new_request_id() -> str:
    """Returns a random id. A caller that stores the id before sending can look up the request after a crash."""
    return str(uuid.uuid4())


@dataclass(frozen=True)
class Policy:
    """Limits of retries, in seconds; `total_s` covers all attempts of a call."""

    total_s: float = 30.0
    attempt_s: float = 5.0
    first_wait_s: float = 0.05
    wait_s_max: float = 2.0

    def __post_init__(self) -> None:
        if min(self.total_s, self.attempt_s, self.first_wait_s, self.wait_s_max) <= 0:
            raise ValueError("a policy's times must be above 0")


class Asking:
    def __init__(
        self,
        policy: Policy,
        method: str,
        request: Any,
        timeout_s: float | None = None,
        clock: Callable[[], float] = time.monotonic,
        draw: Callable[[float, float], float] = random.uniform,
    ) -> None:
        self.policy, self.clock, self.draw = policy, clock, draw
        self.name = method.rpartition("/")[2]
        self.request = named(self.name, request)
        self.request_id: str = getattr(self.request, "request_id", "")
        self.changes = not self.name.startswith(REPEATABLE)
        self.until = clock() + (policy.total_s if timeout_s is None else timeout_s)
        self.attempts = 0
        self.lost = False

    def attempt_s(self) -> float:
        """Counts an attempt and returns its timeout."""
        self.attempts += 1
        left = max(0.0, self.until - self.clock())
        # A call that cannot be retried has one attempt, which gets the whole timeout.
        return min(self.policy.attempt_s, left) if self.may_repeat() else left

    def may_repeat(self) -> bool:
        return bool(self.request_id) or not self.changes

    def wait_s(self, refused: Refused) -> float:
        """Returns the delay before the next attempt; raises if no further attempt is allowed."""
        self.lost = self.lost or (refused.code in LOST and not isinstance(refused, NotSent))
        least = refused.retry_after_s or 0.0
        left = self.until - self.clock() - least
        if left <= self.policy.first_wait_s or not self.may_repeat() or not may_pass(refused):
            self.give_up(refused)
        backoff = min(self.policy.first_wait_s * 2.0 ** min(self.attempts - 1, 64), self.policy.wait_s_max)
        # The delay is random, so that many callers do not retry at once. No retry starts after the deadline.
        return least + min(self.draw(0.0, backoff), left / 2)

    def give_up(self, refused: Refused) -> None:
        """Raises the refusal, or OutcomeUnknown if an attempt may have been applied."""
        if self.changes and self.lost and (refused.code in LOST or refused.code in AT_THE_DOOR):
            raise OutcomeUnknown(f"the outcome of {self.name} is unknown: {refused}", self.request_id) from refused
        raise refused


def may_pass(refused: Refused) -> bool:
    """Whether a retry can get a different answer."""
    if refused.retry_after_s is not None:
        return True
    # These statuses leave the outcome unknown, even if the service gives a reason.
    if refused.code in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED):
        return True
    return refused.code in LOST and not refused.reason


def named(method: str, request: Any) -> Any:
    has_id = "request_id" in request.DESCRIPTOR.fields_by_name
    if not has_id or request.request_id or method.startswith(LOOK_UPS):
        return request
    copy = type(request)()
    copy.CopyFrom(request)
    copy.request_id = new_request_id()
    return copy
