"""Plays one disconnected and one stopped autoplay series (PL-07)."""

import grpc
from motherlode.spin.v1 import spin_pb2
from service import waits

PAUSE_MS = 300


class Series:
    def __init__(self, player, session, stake, spins, pause_ms=0, **more):
        self.player, self.session = player, session
        self.request = spin_pb2.AutospinRequest(
            request_id=player.request_id("series"),
            account=player.account,
            game=session.game,
            stake=stake,
            spins=spins,
            pause_ms=pause_ms,
            session_id=session.id,
            **more,
        )
        self.told = []

    def follow(self, service):
        for wait_s in waits():
            before, number = len(self.told), 0
            answers = service.spins.Autospin(self.request, timeout=10 * service.answer_s, wait_for_ready=True)
            try:
                for number, answer in enumerate(answers, 1):
                    if number <= before:
                        assert same(answer, self.told[number - 1]), "a repeated answer differs from the first"
                        continue
                    self.told.append(answer)
                    self.take(answer)
                    yield answer
                return
            except grpc.RpcError as error:
                service.pause(error, wait_s)
            finally:
                answers.cancel()
        raise TimeoutError("the series keeps losing its connection")

    def take(self, answer):
        if not answer.HasField("played"):
            return
        self.player.told(answer.played)
        self.player.finish(answer.played.round_id, answer.played.outcome, self.session.id)


def same(one, other):
    """Compares two answers, ignoring the jackpot, which may have been paid between the answers."""
    one, other = spin_pb2.AutospinResponse.FromString(one.SerializeToString()), other
    other = spin_pb2.AutospinResponse.FromString(other.SerializeToString())
    for answer in one, other:
        answer.played.ClearField("jackpot")
    return one == other


def resumed(player, session, stake, connect, spins=30, **more):
    """Plays a series over two connections and drops the first connection halfway."""
    series = Series(player, session, stake, spins, **more)
    first = connect()
    for _ in series.follow(first):
        if len(series.told) == spins // 3:
            break
    first.close()
    for _ in series.follow(player.service):
        pass
    last = series.told[-1]
    assert (last.stop, last.spins_left) == (spin_pb2.AUTOSPIN_STOP_COMPLETE, 0), last
    return spins


def stopped(player, session, stake, spins=1000, **more):
    """Stops a series after its fifth answer. Rounds played before the stop arrived are in the history."""
    series = Series(player, session, stake, spins, PAUSE_MS, **more)
    answers = series.follow(player.service)
    for _ in range(5):
        last = next(answers)
    answers.close()
    assert last.spins_left > 0
    return spins - last.spins_left
