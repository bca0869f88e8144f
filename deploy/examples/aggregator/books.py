"""The aggregator's books of a player."""

from dataclasses import dataclass, field

import draws
from motherlode.ledger.v1 import ledger_pb2
from motherlode.round.v1 import round_pb2

PAGE_SIZE = 100


@dataclass
class Round:
    bet: int
    win: int
    # Maps each step to the amount credited before the round's end (ME-16).
    credited: dict
    jackpot: int
    open: bool
    # Campaign of a free round (PL-18); the operator paid the bet.
    campaign: str

    @staticmethod
    def of(round, credited, jackpots):
        """`round` is a Played or a Round, which have the same field names."""
        is_open = round.state == round_pb2.ROUND_STATE_OPEN
        return Round(round.bet.amount_minor, round.win.amount_minor, credited, jackpots, is_open, round.campaign_id)

    def paid(self):
        return 0 if self.campaign else self.bet

    def net(self):
        """Returns the change of the balance. While the round is open, its win does not count, except parts credited by
        HALVE."""
        return (sum(self.credited.values()) if self.open else self.win) + self.jackpot - self.paid()


@dataclass
class Books:
    deposits: dict = field(default_factory=dict)
    withdrawals: dict = field(default_factory=dict)
    rounds: dict = field(default_factory=dict)
    pending: set = field(default_factory=set)
    client_seeds: dict = field(default_factory=dict)

    def told(self, played, client_seed=None):
        if client_seed is not None:
            self.client_seeds[played.round_id, played.step] = client_seed
        before = self.rounds.get(played.round_id)
        jackpot = before.jackpot if before else 0
        if played.HasField("jackpot"):
            jackpot = played.jackpot.amount.amount_minor
            if not played.jackpot.HasField("amount"):
                self.pending.add(played.round_id)
        credited = {**(before.credited if before else {}), played.step: played.outcome.credited_minor}
        self.rounds[played.round_id] = Round.of(played, credited, jackpot)

    def read(self, round):
        self.rounds[round.round_id] = Round.of(round, credited(round), jackpots(round))
        self.pending.discard(round.round_id)

    def balance(self):
        moved = sum(self.deposits.values()) - sum(self.withdrawals.values())
        return moved + sum(round.net() for round in self.rounds.values())


def credited(round):
    return {step.number: step.outcome.credited_minor for step in round.steps}


def jackpots(round):
    return sum(won.amount.amount_minor for won in round.jackpots)


def history(service, account):
    token = ""
    while True:
        request = ledger_pb2.ListRoundsRequest(account=account, page_size=PAGE_SIZE, page_token=token)
        page = service.ask(service.ledger.ListRounds, request)
        yield from page.rounds
        token = page.next_page_token
        if not token:
            return


def differences(service, account, books):
    found = []

    def compare(what, told, ledger):
        if told != ledger:
            found.append(f"{account.player_id}: {what}: the answers state {told}, the ledger has {ledger}")

    for round_id in books.pending.copy():
        request = ledger_pb2.GetRoundRequest(round_id=round_id)
        books.read(service.ask(service.ledger.GetRound, request).round)
    for kind, transfers in [
        (ledger_pb2.Transaction.KIND_DEPOSIT, books.deposits),
        (ledger_pb2.Transaction.KIND_WITHDRAWAL, books.withdrawals),
    ]:
        for request_id, amount in transfers.items():
            request = ledger_pb2.GetTransactionRequest(account=account, request_id=request_id)
            booked = service.ask(service.ledger.GetTransaction, request).transaction
            compare(f"transfer {request_id}", (kind, amount), (booked.kind, booked.amount.amount_minor))
    rounds = {}
    for round in history(service, account):
        rounds[round.round_id] = Round.of(round, credited(round), jackpots(round))
        if round.state != round_pb2.ROUND_STATE_OPEN:
            found.extend(draws.faults(round, books.client_seeds))
    for round_id in sorted(rounds.keys() | books.rounds.keys()):
        compare(round_id, books.rounds.get(round_id), rounds.get(round_id))
    request = ledger_pb2.GetAccountRequest(account=account)
    shown = service.ask(service.ledger.GetAccount, request)
    compare("balance", books.balance(), shown.balance.amount_minor)
    compare("open rounds", [], list(shown.open_round_ids))
    return found
