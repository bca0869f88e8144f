from decimal import Decimal
from itertools import islice

import grpc
from client import bet, refused

from motherlode.jackpot.v1 import jackpot_pb2

COINS = ["0.01", "0.02", "0.05", "0.1", "0.2", "0.5", "1", "2", "5", "10"]


def millis(timestamp):
    return timestamp.seconds * 1000 + timestamp.nanos // 1_000_000


def pool(client, pool_id="bewitched"):
    return client.jackpot.GetPool(jackpot_pb2.GetPoolRequest(pool_id=pool_id)).pool


def terms(seed_eur="1000", **more):
    standard = dict(contribution_ppm=5_000, base_coin="10", refresh_ms=3_000)
    return jackpot_pb2.PoolTerms(seed_eur=seed_eur, **{**standard, **more})


def test_bw_12_bw_13_the_seeds_of_a_fresh_pool(start):
    client = start().client()
    first = next(client.jackpot.WatchCounters(jackpot_pb2.WatchCountersRequest(pool_id="bewitched")))
    figures = {Decimal(counter.coin_value): Decimal(counter.figure) for counter in first.counters}
    assert figures == {Decimal(coin): 2_000 * Decimal(coin) for coin in COINS}
    assert (figures[Decimal("0.01")], figures[Decimal("0.2")]) == (20, 400)
    assert first.status == jackpot_pb2.POOL_STATUS_ACTIVE


def test_bw_13_bw_14_counters_come_every_three_seconds_with_the_position_they_hold_for(client, player):
    alice = client.fund(player)
    client.play_out(bet("r", alice, coin_value="1"))
    updates = list(islice(client.jackpot.WatchCounters(jackpot_pb2.WatchCountersRequest(pool_id="bewitched")), 3))
    times = [millis(update.refresh_time) for update in updates]
    assert [time % 3_000 for time in times[1:]] == [0, 0]
    assert times == sorted(set(times)), "each refresh must be sent once"
    positions = [update.position for update in updates]
    assert positions == sorted(positions)
    for update in updates:
        assert [Decimal(counter.coin_value) for counter in update.counters] == [Decimal(coin) for coin in COINS]
        figures = {Decimal(counter.coin_value): Decimal(counter.figure) for counter in update.counters}
        base = figures[Decimal(10)]
        assert figures == {Decimal(coin): base * Decimal(coin) / 10 for coin in COINS}
    assert base > 20_000, "the bet's contribution shows no later than at the second refresh"


def test_bw_13_only_the_asked_for_coin_values_are_sent(client):
    request = jackpot_pb2.WatchCountersRequest(pool_id="bewitched", coin_values=["1", "0.05"])
    first = next(client.jackpot.WatchCounters(request))
    assert [Decimal(counter.coin_value) for counter in first.counters] == [Decimal("0.05"), Decimal(1)]
    for bad in ["x", "-1", "1e2"]:
        with refused(grpc.StatusCode.INVALID_ARGUMENT, "INVALID_FIELD") as said:
            request = jackpot_pb2.WatchCountersRequest(pool_id="bewitched", coin_values=[bad])
            next(client.jackpot.WatchCounters(request))
        assert said.fields == ["coin_values"]


def test_bw_11_bw_18_bets_are_pooled_exactly_and_the_books_balance(start):
    client = start().client()
    alice = client.fund("alice", amount=10**9)
    rounds = [client.play_out(bet(f"r{number}", alice, coin_value="0.05"))[0] for number in range(40)]
    staked = sum(round.bet.amount_minor for round in rounds)
    end = rounds[-1].position
    for _ in client.jackpot.WatchCounters(jackpot_pb2.WatchCountersRequest(pool_id="bewitched")):
        meters = pool(client)
        if meters.pooled_position >= end:
            break
    assert Decimal(meters.contributions_eur) == Decimal(staked) / 100 * Decimal("0.005")
    assert Decimal(meters.base_figure_eur) == 20_000 + Decimal(meters.increments_eur)
    inside = Decimal(meters.contributions_eur) + Decimal(meters.house_funding_eur)
    outside = Decimal(meters.paid_eur) + Decimal(meters.increments_eur) + Decimal(meters.reserve_eur)
    assert inside == outside
    awards = client.jackpot.ListAwards(jackpot_pb2.ListAwardsRequest(pool_id="bewitched")).awards
    assert len(awards) == meters.cycle - 1


def test_bw_20_pools_are_opened_suspended_resumed_and_retired(start):
    client = start().client()
    jackpot = client.jackpot
    opened = jackpot.OpenPool(jackpot_pb2.OpenPoolRequest(request_id="o", pool_id="test", terms=terms())).pool
    assert (opened.cycle, opened.status) == (1, jackpot_pb2.POOL_STATUS_ACTIVE)
    assert Decimal(opened.base_figure_eur) == 1_000 and opened.terms.version == 1
    with refused(grpc.StatusCode.ALREADY_EXISTS, "POOL_EXISTS"):
        jackpot.OpenPool(jackpot_pb2.OpenPoolRequest(request_id="p", pool_id="test", terms=terms()))
    change = jackpot_pb2.ChangePoolTermsRequest(request_id="c", pool_id="test", terms=terms("2000"))
    changed = jackpot.ChangePoolTerms(change).pool
    assert Decimal(changed.terms.seed_eur) == 1_000, "the old terms apply until the next win"
    assert Decimal(changed.pending_terms.seed_eur) == 2_000 and changed.pending_terms.version == 2
    assert Decimal(changed.base_figure_eur) == 1_000
    with refused(grpc.StatusCode.ALREADY_EXISTS, "REQUEST_ID_REUSED"):
        jackpot.ChangePoolTerms(
            jackpot_pb2.ChangePoolTermsRequest(request_id="c", pool_id="test", terms=terms("3000"))
        )
    suspend = jackpot_pb2.SuspendPoolRequest(request_id="s", pool_id="test", reason="check", actor="ann")
    assert jackpot.SuspendPool(suspend).pool.status == jackpot_pb2.POOL_STATUS_SUSPENDED
    watched = next(jackpot.WatchCounters(jackpot_pb2.WatchCountersRequest(pool_id="test", coin_values=["10"])))
    assert watched.status == jackpot_pb2.POOL_STATUS_SUSPENDED, "shown so"
    assert Decimal(watched.counters[0].figure) == 1_000
    resume = jackpot_pb2.ResumePoolRequest(request_id="r", pool_id="test", actor="ann")
    assert jackpot.ResumePool(resume).pool.status == jackpot_pb2.POOL_STATUS_ACTIVE
    with refused(grpc.StatusCode.FAILED_PRECONDITION, "POOL_STATUS"):
        jackpot.ResumePool(jackpot_pb2.ResumePoolRequest(request_id="r2", pool_id="test", actor="ann"))
    retire = jackpot_pb2.RetirePoolRequest(request_id="t", pool_id="test", into_pool_id="bewitched", actor="ann")
    with refused(grpc.StatusCode.FAILED_PRECONDITION, "POOL_STATUS"):
        jackpot.RetirePool(retire)
    jackpot.SuspendPool(jackpot_pb2.SuspendPoolRequest(request_id="s2", pool_id="test", reason="end", actor="ann"))
    assert jackpot.RetirePool(retire).pool.status == jackpot_pb2.POOL_STATUS_RETIRED
    with refused(grpc.StatusCode.FAILED_PRECONDITION, "POOL_STATUS"):
        jackpot.ResumePool(jackpot_pb2.ResumePoolRequest(request_id="r3", pool_id="test", actor="ann"))


def test_bw_20_unusable_terms_are_refused(start):
    client = start().client()
    for change, reason in [
        ({"seed_eur": "x"}, "INVALID_FIELD"),
        ({"base_coin": "1e1"}, "INVALID_FIELD"),
        ({"collision_share": 9}, "INVALID_FIELD"),
        ({"seed_eur": "-1"}, None),
        ({"contribution_ppm": 1_000_001}, "INVALID_TERMS"),
        ({"base_coin": "0"}, None),
        ({"refresh_ms": 0}, "INVALID_TERMS"),
    ]:
        request = jackpot_pb2.OpenPoolRequest(request_id="o", pool_id="test", terms=terms(**change))
        with refused(grpc.StatusCode.INVALID_ARGUMENT, reason or "INVALID_TERMS"):
            client.jackpot.OpenPool(request)
    with refused(grpc.StatusCode.INVALID_ARGUMENT, "INVALID_FIELD") as said:
        client.jackpot.OpenPool(jackpot_pb2.OpenPoolRequest(request_id="o", pool_id="test"))
    assert said.fields == ["terms"]
