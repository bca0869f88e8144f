import pickle

import grpc
import pytest

from motherlode import Conflict, NotSent, OutcomeUnknown, Policy, Refused, Target, Unavailable, refusal_of
from motherlode.ledger.v1.ledger_pb2 import CancelRequestRequest, DepositRequest, GetRequestRequest
from motherlode.retry import Asking
from motherlode.spin.v1.spin_pb2 import CloseSessionRequest

CODE = grpc.StatusCode
DEPOSIT = "/motherlode.ledger.v1.LedgerService/Deposit"


class Clock:
    now_s = 0.0

    def __call__(self):
        return self.now_s


def asking(method=DEPOSIT, request=None, clock=None, draw=lambda low, high: high, **policy):
    request = DepositRequest(request_id="d-1") if request is None else request
    return Asking(Policy(**policy), method, request, clock=clock or Clock(), draw=draw)


def refused(code, reason="", after_s=None):
    return Refused(code, "no", reason, retry_after_s=after_s)


def test_pl_11_a_request_without_an_id_gets_one_and_the_callers_message_is_left_alone():
    mine = DepositRequest(amount_minor=5)
    first, second = asking(request=mine), asking(request=mine)
    assert not mine.request_id
    assert first.request.amount_minor == 5
    assert first.request_id == first.request.request_id != second.request_id
    assert len(first.request_id) == 36


def test_pl_33_the_id_of_a_look_up_is_never_made():
    for method, request in [("GetRequest", GetRequestRequest()), ("CancelRequest", CancelRequestRequest())]:
        assert asking(f"/s/{method}", request).request_id == ""


def test_waits_double_up_to_the_longest_with_full_jitter():
    drawn = []

    def draw(low, high):
        drawn.append((low, high))
        return low

    request = asking(draw=draw, first_wait_s=0.1, wait_s_max=0.5)
    for _ in range(5):
        request.attempt_s()
        request.wait_s(refused(CODE.UNAVAILABLE))
    assert drawn == [(0.0, 0.1), (0.0, 0.2), (0.0, 0.4), (0.0, 0.5), (0.0, 0.5)]


def test_what_the_service_asks_to_wait_is_waited_at_least():
    request = asking()
    request.attempt_s()
    assert request.wait_s(refused(CODE.RESOURCE_EXHAUSTED, "RATE_LIMITED", 3.0)) >= 3.0
    with pytest.raises(Refused):
        request.wait_s(refused(CODE.RESOURCE_EXHAUSTED, "RATE_LIMITED", 31.0))


@pytest.mark.parametrize("code", [CODE.UNAVAILABLE, CODE.DEADLINE_EXCEEDED, CODE.CANCELLED, CODE.UNKNOWN, CODE.INTERNAL])
def test_what_a_lost_answer_can_look_like_is_asked_again(code):
    request = asking()
    request.attempt_s()
    request.wait_s(refused(code))


@pytest.mark.parametrize("code", [code for code in CODE if code != CODE.OK])
def test_what_is_refused_for_a_reason_and_for_good_is_not(code):
    if code in (CODE.UNAVAILABLE, CODE.DEADLINE_EXCEEDED):
        return
    request = asking()
    request.attempt_s()
    with pytest.raises((Refused, OutcomeUnknown)):
        request.wait_s(refused(code, "NO_REASON_TO_ASK_AGAIN"))


def test_retries_last_until_the_deadline_and_not_beyond():
    for draw in [lambda low, high: high, lambda low, high: high / 2]:
        clock = Clock()
        request = asking(clock=clock, draw=draw)
        with pytest.raises(OutcomeUnknown):
            for _ in range(1000):
                request.attempt_s()
                clock.now_s += request.wait_s(refused(CODE.UNAVAILABLE))
        assert 29.9 <= clock.now_s < 30.0


def test_attempts_and_time_are_bounded():
    clock = Clock()
    request = asking(clock=clock, total_s=10.0, attempt_s=4.0)
    assert request.attempt_s() == 4.0
    request.wait_s(refused(CODE.UNAVAILABLE))
    clock.now_s = 9.0
    assert request.attempt_s() == 1.0
    assert request.wait_s(refused(CODE.UNAVAILABLE)) <= 0.5
    clock.now_s = 10.0
    assert request.attempt_s() == 0.0
    with pytest.raises(OutcomeUnknown) as unknown:
        request.wait_s(refused(CODE.UNAVAILABLE))
    assert unknown.value.request_id == "d-1"


def test_pl_33_a_refusal_at_the_door_says_nothing_about_an_attempt_whose_answer_was_lost():
    request = asking()
    request.attempt_s()
    request.wait_s(refused(CODE.UNAVAILABLE))
    request.attempt_s()
    with pytest.raises(OutcomeUnknown):
        request.wait_s(refused(CODE.UNAUTHENTICATED, "TOKEN_EXPIRED"))
    request = asking()
    request.attempt_s()
    request.wait_s(refused(CODE.UNAVAILABLE))
    request.attempt_s()
    with pytest.raises(Refused):
        request.wait_s(refused(CODE.FAILED_PRECONDITION, "INSUFFICIENT_FUNDS"))


def test_a_look_up_without_an_answer_changes_nothing_and_is_refused():
    clock = Clock()
    request = asking("/s/GetRequest", GetRequestRequest(request_id="r"), clock=clock)
    request.attempt_s()
    clock.now_s = 30.0
    with pytest.raises(Refused):
        request.wait_s(refused(CODE.UNAVAILABLE))


def test_what_has_no_request_id_is_asked_again_only_where_it_comes_to_the_same():
    closing = asking("/s/CloseSession", CloseSessionRequest())
    closing.attempt_s()
    closing.wait_s(refused(CODE.UNAVAILABLE))
    other = asking("/s/ResolveAwards", CloseSessionRequest(), total_s=20.0)
    assert other.attempt_s() == 20.0
    with pytest.raises(OutcomeUnknown):
        other.wait_s(refused(CODE.UNAVAILABLE))


def test_details_that_are_damaged_leave_the_status():
    class Broken(grpc.RpcError):
        def code(self):
            return CODE.ALREADY_EXISTS

        def details(self):
            return "there"

        def trailing_metadata(self):
            return [("grpc-status-details-bin", b"\xff\xff")]

    told = refusal_of(Broken(), "r")
    assert (told.code, told.reason, told.request_id) == (CODE.ALREADY_EXISTS, "", "r")
    assert not isinstance(told, Conflict)


def test_a_token_never_goes_over_a_plain_connection_to_another_machine():
    with pytest.raises(ValueError, match="TLS"):
        Target("192.0.2.1:50051", token="t", plain=True)
    Target("[::1]:50051", token="t", plain=True)
    assert "secret" not in repr(Target("localhost:1", token="secret"))
    Target("192.0.2.1:50051", token="t", plain=True, plain_remote=True)
    with pytest.raises(ValueError, match="above 0"):
        Policy(total_s=0)


def test_a_targets_token_certificates_and_options():
    assert Target("h:1", token=" t\n").token == "t"
    for wrong in [{"token": "two words"}, {"certificate": b"c"}, {"key": b"k"}, {"address": "[::1]:1", "plain": True, "ca": b"c"}]:
        with pytest.raises(ValueError):
            Target(**{"address": "h:1", **wrong})
    assert "secret" not in repr(Target("h:1", certificate=b"c", key=b"secret"))
    options = Target("h:1", options=[("grpc.keepalive_time_ms", 60_000), ("grpc.primary_user_agent", "a")]).channel_options()
    assert ("grpc.keepalive_time_ms", 60_000) in options and ("grpc.primary_user_agent", "a") in options
    assert len(dict(options)) == len(options)


class Failed(grpc.RpcError):
    def __init__(self, details, report="UNAVAILABLE:...", trailing=()):
        self.details, self.debug_error_string, self.trailing_metadata = lambda: details, lambda: report, lambda: trailing

    def code(self):
        return CODE.UNAVAILABLE


def test_pl_33_only_a_call_without_a_connection_is_known_to_be_unsent():
    none = refusal_of(Failed("failed to connect to all addresses; last error: ..."), "r")
    assert isinstance(none, NotSent) and isinstance(none, Unavailable) and none.request_id == "r"
    assert isinstance(refusal_of(Failed("errors resolving nohost:1: ...")), NotSent)
    for answered in [
        Failed("Socket closed"),
        Failed("failed to connect to all addresses", "UNAVAILABLE:Error received from peer ipv4:127.0.0.1:1"),
        Failed("failed to connect to all addresses", trailing=[("a", "b")]),
    ]:
        assert not isinstance(refusal_of(answered), NotSent)
    for before, expected in [([none], NotSent), ([refused(CODE.UNAVAILABLE), none], OutcomeUnknown)]:
        clock = Clock()
        request = asking(clock=clock)
        for refusal in before[:-1]:
            request.attempt_s()
            request.wait_s(refusal)
        request.attempt_s()
        clock.now_s = 30.0
        with pytest.raises(expected):
            request.wait_s(before[-1])


def test_exceptions_pickle():
    known = Conflict(CODE.ALREADY_EXISTS, "no", "REQUEST_ID_REUSED", {"a": "b"}, {"f": "g"}, 1.5, "r-1")
    copy = pickle.loads(pickle.dumps(known))
    assert (type(copy), str(copy), vars(copy)) == (type(known), str(known), vars(known))
    copy = pickle.loads(pickle.dumps(OutcomeUnknown("unknown", "r-2")))
    assert (type(copy), str(copy), copy.request_id) == (OutcomeUnknown, "unknown", "r-2")
