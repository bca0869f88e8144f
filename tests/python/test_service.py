import json
import subprocess
from decimal import ROUND_HALF_EVEN, Decimal

import grpc
import pytest
from client import DEPOSIT, bet, refused
from conftest import BINARY
from google.protobuf.descriptor_pool import DescriptorPool
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase

from motherlode.jackpot.v1 import jackpot_pb2
from motherlode.report.v1 import report_pb2
from motherlode.round.v1 import round_pb2
from motherlode.spin.v1 import description_pb2, spin_pb2

SERVICES = [
    "motherlode.jackpot.v1.JackpotService",
    "motherlode.ledger.v1.LedgerService",
    "motherlode.spin.v1.SpinService",
]


@pytest.mark.parametrize("name", ["", *SERVICES])
def test_each_service_says_that_it_serves(client, name):
    health = health_pb2_grpc.HealthStub(client.channel)
    answer = health.Check(health_pb2.HealthCheckRequest(service=name))
    assert answer.status == health_pb2.HealthCheckResponse.SERVING


def test_the_health_of_an_unknown_service_is_not_found(client):
    with pytest.raises(grpc.RpcError) as raised:
        health_pb2_grpc.HealthStub(client.channel).Check(health_pb2.HealthCheckRequest(service="poker"))
    assert raised.value.code() == grpc.StatusCode.NOT_FOUND


def test_pl_13_games_describe_themselves(client):
    listed = client.spins.ListGames(spin_pb2.ListGamesRequest()).games
    games = {}
    for game in listed:  # Versions from newest to oldest.
        games.setdefault(game.game, game)
    assert sorted(games) == ["bewitched", "dwarf-mine", "mystery-elves", "neptune", "witch-feature"]
    for name in games:
        assert client.spins.GetGame(spin_pb2.GetGameRequest(game=name)).summary == games[name]
    summary = games["bewitched"]
    assert (summary.game, summary.rules_version, summary.rules_date) == ("bewitched", "1.6.1", "2026-11-22")
    assert len(bytes.fromhex(summary.model_hash)) == 32
    first = client.spins.GetGame(spin_pb2.GetGameRequest(game="bewitched", rules_version="1.6")).summary
    assert (first.rules_version, first.rules_date) == ("1.6", "2016-04-21") and first in listed
    for version in ["", "1.6.1"]:
        game = client.spins.GetGame(spin_pb2.GetGameRequest(game="bewitched", rules_version=version))
        assert game.summary == summary and game.title == "Bewitched"
        assert len(game.lines) == 15 and all(len(line.rows) == 5 for line in game.lines)
        assert Decimal(game.coin_values[0]) == Decimal("0.01") and Decimal(game.coin_values[-1]) == 10
        assert game.coins_per_line_max == 10 and Decimal(game.rtp) == Decimal("0.946")
        assert game.symbols and game.rules_text
        assert all(0 <= row < 3 for line in game.lines for row in line.rows)


def test_pl_13_a_description_is_the_whole_game(client):
    def described(name, **more):
        return client.spins.GetGame(spin_pb2.GetGameRequest(game=name, **more))

    games = {name: described(name) for name in ("bewitched", "dwarf-mine", "mystery-elves", "neptune", "witch-feature")}
    for name, game in games.items():
        assert (game.reels, game.rows) == (5, 4 if name in ("dwarf-mine", "witch-feature") else 3), name
        assert all(symbol.role for symbol in game.symbols) and game.pay_rows and not game.reel_sets, name
        assert Decimal(game.std_dev_bets) > 1 and Decimal(game.volatility_index) > Decimal(game.std_dev_bets), name
        assert game.bet_coins.min <= game.bet_coins.default <= game.bet_coins.max, name
        # WF-04.
        win_up_to = game.win_up_to
        assert Decimal(win_up_to.bets) == int(win_up_to.bets) > Decimal(game.max_win_bets), name
        assert Decimal(win_up_to.probability_at_most) < Decimal("1e-12") and win_up_to.says, name
        strips = described(name, with_strips=True).reel_sets[0].strips
        assert len(strips) == 5 and all(symbol < len(game.symbols) for strip in strips for symbol in strip.symbols)
    role = {name: {symbol.name: symbol.role for symbol in game.symbols} for name, game in games.items()}
    assert role["neptune"]["Mermaid"] == description_pb2.SYMBOL_ROLE_SCATTER
    assert role["dwarf-mine"]["Ruby Dwarf"] == description_pb2.SYMBOL_ROLE_SUPER_HIGH
    assert list(games["dwarf-mine"].ways) == [1024, 3125, 7776, 16807] and games["dwarf-mine"].rows_max == 7
    by_scatters = {row.count: row.free_spins for row in games["bewitched"].pay_rows if row.free_spins}
    assert by_scatters == {3: 8, 4: 12, 5: 20}
    picks = {name: (game.picks.needs_min, game.picks.needs_max, game.picks.of) for name, game in games.items()}
    assert (picks["bewitched"], picks["neptune"], picks["dwarf-mine"]) == ((3, 3, 6), (3, 5, 12), (0, 0, 0))
    assert list(games["witch-feature"].multipliers) == [2, 3, 5, 8, 10]
    specials = [(special.name, special.bets) for special in games["mystery-elves"].special_wins]
    assert specials == [("MINI", 20), ("MINOR", 50), ("MAJOR", 150), ("GRAND", 1000)]
    # ME-18, WF-21.
    returns = {name: {of.key: Decimal(of.rtp) for of in game.conditional_returns} for name, game in games.items()}
    assert abs(returns["mystery-elves"]["buy_feature"] - Decimal("0.9501")) <= Decimal("0.005")
    # PL-43.
    first = ["new_player_100", "new_player_500", "new_player_1000"]
    assert list(returns["witch-feature"]) == ["unlocked_1", "unlocked_2", "unlocked_3", *first]
    assert list(returns["dwarf-mine"]) == first
    assert [name for name, game in games.items() if game.HasField("jackpot_returns")] == ["bewitched"]


def test_bw_21_the_jackpots_share_is_a_span_with_the_figure_of_each_coin(client):
    returns = client.spins.GetGame(spin_pb2.GetGameRequest(game="bewitched")).jackpot_returns
    assert (returns.rtp_min, returns.rtp_max) == ("0.9460", "0.9510")
    assert Decimal(returns.rtp_without_jackpot) == Decimal("0.941") and returns.assumes
    for coin in returns.coins:
        exact = Decimal("0.946") + Decimal("0.005") * Decimal(coin.coin_value) / 10
        assert Decimal(coin.rtp) == exact == Decimal(coin.rtp_now), coin.coin_value
        assert Decimal(returns.rtp_min) <= exact <= Decimal(returns.rtp_max)
    assert not returns.pool_suspended


def test_dm_19_pl_13_the_returns_in_cash_are_those_of_the_par_sheet(client):
    for name in {listed.game for listed in client.spins.ListGames(spin_pb2.ListGamesRequest()).games}:
        command = [BINARY, "par", name, "--format", "json"]
        sheet = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
        said = {}
        for of in sheet["cash"]:
            rtp = Decimal(of["rtp"]).quantize(Decimal("0.000001"), ROUND_HALF_EVEN)
            said[of["currency"], of["coin_value"]] = rtp, of["rounds_wins"]
        game = client.spins.GetGame(spin_pb2.GetGameRequest(game=name))
        assert sheet["rules_version"] == game.summary.rules_version
        assert len(said) >= 60 and said == {
            (of.currency_code, coin.coin_value): (Decimal(coin.rtp_cash), coin.rounds_wins)
            for of in game.currencies
            for coin in of.coins
        }


def test_pl_13_descriptions_say_what_can_be_staked_gambled_and_bought(client):
    listed = client.spins.ListGames(spin_pb2.ListGamesRequest()).games
    games = {game.game: client.spins.GetGame(spin_pb2.GetGameRequest(game=game.game)) for game in listed}
    said = {
        name: ((game.lines_min, game.lines_max), (game.coins_per_line_min, game.coins_per_line_max), game.gambles_max)
        for name, game in games.items()
    }
    # Expected values from the rules BW-01, BW-22, ME-01, ME-15, NP-01 and WF-01.
    assert said == {
        "bewitched": ((1, 15), (1, 10), 5),
        "dwarf-mine": ((1, 1), (25, 25), 0),
        "mystery-elves": ((10, 10), (1, 20), 10),
        "neptune": ((1, 15), (1, 5), 0),
        "witch-feature": ((50, 50), (1, 10), 0),
    }
    assert [name for name, game in games.items() if game.jackpot] == ["bewitched"]
    assert [(name, game.buy_feature_bets) for name, game in games.items() if game.halve] == [("mystery-elves", 70)]
    assert not [name for name, game in games.items() if game.buy_feature_bets and not game.halve]
    facts = {name: {fact.key: Decimal(fact.value) for fact in game.facts} for name, game in games.items()}
    assert abs(facts["mystery-elves"]["buy_feature_rtp"] - Decimal("0.9501")) <= Decimal("0.005")
    alice = client.fund("stakes")
    for name, game in games.items():
        over = round_pb2.Stake(coin_value=game.coin_values[0], lines=game.lines_max + 1, coins_per_line=1)
        request = spin_pb2.SpinRequest(request_id=f"over-{name}", account=alice, game=name, stake=over)
        with refused(grpc.StatusCode.INVALID_ARGUMENT, "INVALID_STAKE") as refusal:
            client.spin(request)
        assert refusal.metadata["lines_max"] == str(game.lines_max), "the description and the refusal must state the same minimum bet"


def test_pl_30_sigterm_ends_it_in_order_and_a_restart_goes_on_where_it_was(start, tmp_path):
    service = start()
    client = service.client()
    alice = client.fund("alice")
    spun = client.play_until(alice, round_pb2.AWAITING_PICK)[-1]
    balance = client.balance(alice)
    client.close()
    assert service.terminate() == 0
    service = start()
    client = service.client()
    assert client.balance(alice) == balance
    assert client.spin(bet("after", client.fund("bob"))).step == 1
    vials = round_pb2.Choice(pick=round_pb2.Choice.Pick(numbers=[1, 2, 3]))
    assert client.choose("vials", spun.round_id, vials).round_id == spun.round_id
    client.close()
    assert service.terminate() == 0


def test_pl_30_a_stop_ends_streams_and_answers_what_was_taken(start):
    service = start()
    client = service.client()
    counters = client.jackpot.WatchCounters(jackpot_pb2.WatchCountersRequest(pool_id="bewitched"))
    next(counters)
    accounts = [client.fund(f"p{number}") for number in range(50)]
    requests = [spin_pb2.PlayStreamRequest(tag=tag, spin=bet("r", of)) for tag, of in enumerate(accounts)]
    answers = client.spins.PlayStream(iter(requests))
    told = {answer.tag: answer.played for answer in [next(answers)]}
    assert service.terminate() == 0
    told |= {answer.tag: answer.played for answer in answers}
    list(counters)
    service = start()
    client = service.client()
    for tag, played in told.items():
        assert client.spin(bet("r", accounts[tag])) == played, "the answer is repeated"
    for of in accounts:
        played = client.spin(bet("r", of))
        assert len(client.rounds(of).rounds) == 1
        if played.state == round_pb2.ROUND_STATE_SETTLED and not played.HasField("jackpot"):
            assert client.balance(of) == DEPOSIT - played.bet.amount_minor + played.win.amount_minor


def test_a_stop_does_not_wait_for_those_who_watch_its_health(start):
    service = start()
    client = service.client()
    watched = health_pb2_grpc.HealthStub(client.channel).Watch(health_pb2.HealthCheckRequest(service=SERVICES[0]))
    assert next(watched).status == health_pb2.HealthCheckResponse.SERVING
    assert service.terminate() == 0


def test_pl_06_the_log_passes_its_audit(start):
    service = start()
    client = service.client()
    alice = client.fund("alice")
    for number in range(30):
        client.play_out(bet(f"r{number}", alice))
    client.close()
    assert service.terminate() == 0
    audit = subprocess.run([BINARY, "audit", *service.log_arguments], capture_output=True, text=True)
    assert audit.returncode == 0, audit.stdout + audit.stderr


class Reflection(ProtoReflectionDescriptorDatabase):

    def __init__(self, channel):
        super().__init__(channel)
        self._stub.ServerReflectionInfo = channel.stream_stream(
            "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
            request_serializer=reflection_pb2.ServerReflectionRequest.SerializeToString,
            response_deserializer=reflection_pb2.ServerReflectionResponse.FromString,
        )


def test_reflection_lists_the_services_and_their_methods(client):
    database = Reflection(client.channel)
    assert set(SERVICES) <= set(database.get_services())
    pool = DescriptorPool(database)
    spin = pool.FindServiceByName("motherlode.spin.v1.SpinService")
    assert {"Spin", "Choose", "PlayStream"} <= {method.name for method in spin.methods}


def test_pl_28_the_program_that_is_shipped_has_no_script_and_forces_no_outcome(client, player):
    assert not client.reports.GetIdentity(report_pb2.GetIdentityRequest()).test_build
    alice = client.fund(player)
    wish = [("motherlode-force", "no-such-outcome")]
    assert client.spins.Spin(bet("r", alice, "0.01"), metadata=wish).played.round_id
