"""Plays every game until each of its choices has been made, then plays autoplay series and free rounds."""

from dataclasses import dataclass

import autoplay
import campaigns
from books import Books
from motherlode.round.v1 import round_pb2
from motherlode.spin.v1 import spin_pb2
from player import Player, Session

GAMES = {
    "bewitched": {"pick", "start_free_spins", "double", "collect"},
    "dwarf-mine": {"start_free_spins"},
    "mystery-elves": {"start_feature", "double", "halve", "collect"},
    "neptune": {"pick", "start_free_spins"},
    "witch-feature": {"start_free_spins"},
}

ROUNDS_MAX = 20_000


@dataclass
class Report:
    game: str
    books: Books
    free: int
    autoplayed: list
    choices: dict
    differences: list

    def cells(self):
        books = self.books
        rounds = books.rounds.values()
        sums = [
            sum(books.deposits.values()),
            sum(books.withdrawals.values()),
            sum(round.paid() for round in rounds),
            sum(round.win for round in rounds),
            sum(round.jackpot for round in rounds),
        ]
        made = ", ".join(f"{count} {kind}" for kind, count in sorted(self.choices.items()))
        money = [f"{minor / 100:.2f}" for minor in sums]
        return [self.game, str(len(rounds)), str(self.free), "+".join(map(str, self.autoplayed)), *money, made]


def tour(service, direct, connect, operator, game, rounds):
    request = spin_pb2.GetGameRequest(game=game)
    described = service.ask(service.spins.GetGame, request)
    stake = round_pb2.Stake(
        coin_value=described.coin_values[0], lines=described.lines_max, coins_per_line=described.coins_per_line_min
    )
    more = {"witch": round_pb2.WITCH_WHITE} if game == "bewitched" else {}
    player = Player(service, operator, described)
    player.deposit()
    session = Session(player, game, direct)
    if described.buy_feature_bets:
        bought = round_pb2.Stake(buy_feature=True)
        bought.MergeFrom(stake)
        player.bet(session, bought, offer_double=True)
    for number in range(ROUNDS_MAX):
        if number >= rounds and GAMES[game] <= player.choices.keys():
            break
        player.bet(session, stake, offer_double=described.gambles_max > 0, **more)
    else:
        raise AssertionError(f"{game}: in {ROUNDS_MAX} rounds only these choices occurred: {sorted(player.choices)}")
    # A series would end if the balance were below the next bet.
    player.deposit()
    stopped = autoplay.stopped(player, session, stake, **more)
    player.catch_up()
    free = campaigns.free_rounds(player, session, stake, offer_double=described.gambles_max > 0, **more)
    resumed = autoplay.resumed(player, session, stake, connect, **more)
    session.close()
    return Report(game, player.books, free, [stopped, resumed], player.choices, player.leave())
