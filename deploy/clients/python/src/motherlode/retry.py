"""When a request is sent again, and after how long: one state for each logical request, without I/O.

The same message is sent each time, under the same request id, so it has one effect however often it arrives (PL-11). It ends with an
answer, with a refusal that stands, or when its time or its tries are used up.
"""

from __future__ import annotations

import random
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import grpc

from motherlode.errors import OutcomeUnknown, Refused

# The answer was lost, or the service is busy or starting. CANCELLED, UNKNOWN and INTERNAL are what a connection that breaks in the middle
# of an answer can look like from this side; where the service itself says them, it names a reason.
LOST = frozenset(
    {
        grpc.StatusCode.UNAVAILABLE,
        grpc.StatusCode.DEADLINE_EXCEEDED,
        grpc.StatusCode.CANCELLED,
        grpc.StatusCode.UNKNOWN,
        grpc.StatusCode.INTERNAL,
    }
)
# Said before the request id is looked at: it tells nothing about an earlier attempt whose answer was lost.
AT_THE_DOOR = frozenset(
    {grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.PERMISSION_DENIED, grpc.StatusCode.RESOURCE_EXHAUSTED}
)
# They change nothing, or nothing more when they come twice, and have no request id.
REPEATABLE = ("Get", "List", "Read", "CloseSession", "AcknowledgeRealityCheck", "RunSelfCheck")
# Their request id is another request's.
LOOK_UPS = ("Get", "List", "CancelRequest")


def new_request_id() -> str:
    """A request id that nobody else makes. Store it before the request is sent, to find the request again after a crash."""
    return str(uuid.uuid4())


@dataclass(frozen=True)
class Policy:
    """The bounds of asking: seconds, and tries with the first one included."""

    total_s: float = 30.0
    attempt_s: float = 5.0
    attempts_max: int = 12
    first_wait_s: float = 0.05
    wait_s_max: float = 2.0

    def __post_init__(self) -> None:
        if min(self.total_s, self.attempt_s, self.first_wait_s, self.wait_s_max) <= 0 or self.attempts_max < 1:
            raise ValueError("a policy's times are above 0, and there is a try")


class Asking:
    """One logical request: how long each attempt may take, and what follows from its refusal."""

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
        """How long the next attempt may take; it counts as made."""
        self.attempts += 1
        left = max(0.0, self.until - self.clock())
        # What can't be asked again has all the time at once.
        return min(self.policy.attempt_s, left) if self.may_repeat() else left

    def may_repeat(self) -> bool:
        return bool(self.request_id) or not self.changes

    def wait_s(self, refused: Refused) -> float:
        """How long to wait before the request is sent again; raises what the caller gets where it isn't."""
        self.lost = self.lost or refused.code in LOST
        backoff = min(self.policy.first_wait_s * 2.0 ** (self.attempts - 1), self.policy.wait_s_max)
        # Full jitter, on top of what the service asks for: callers that were refused together don't come back together.
        wait = (refused.retry_after_s or 0.0) + self.draw(0.0, backoff)
        late = self.clock() + wait >= self.until
        if late or self.attempts >= self.policy.attempts_max or not self.may_repeat() or not may_pass(refused):
            self.give_up(refused)
        return wait

    def give_up(self, refused: Refused) -> None:
        """Raises the refusal; or that the outcome is unknown, where an attempt may have been applied all the same."""
        if self.changes and self.lost and (refused.code in LOST or refused.code in AT_THE_DOOR):
            raise OutcomeUnknown(f"{self.name} has no known outcome: {refused}", self.request_id) from refused
        raise refused


def may_pass(refused: Refused) -> bool:
    """Whether the same request can have another answer later."""
    if refused.retry_after_s is not None:
        return True
    # One that names its reason and no time has decided, but for these: they say that the answer isn't known.
    if refused.code in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED):
        return True
    return refused.code in LOST and not refused.reason


def named(method: str, request: Any) -> Any:
    """The request with an id, which is made here where the caller gave none: a copy then, and the same for all attempts."""
    has_id = "request_id" in request.DESCRIPTOR.fields_by_name
    if not has_id or request.request_id or method.startswith(LOOK_UPS):
        return request
    copy = type(request)()
    copy.CopyFrom(request)
    copy.request_id = new_request_id()
    return copy
