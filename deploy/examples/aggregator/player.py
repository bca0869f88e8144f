import secrets
import uuid
from collections import Counter
from itertools import count

from books import Books, differences, history
from motherlode.ledger.v1 import ledger_pb2
from motherlode.round.v1 import round_pb2
from motherlode.spin.v1 import spin_pb2
from service import Refused

DEPOSIT = 50_00

GUESSES = [round_pb2.CARD_RED_HEART, round_pb2.CARD_BLACK_SPADE]


class Player:
    def __init__(self, service, operator, game, currency="EUR"):
        name = f"{game.summary.game}-{uuid.uuid4().hex[:12]}"
        self.service, self.game = service, game
        self.account = round_pb2.Account(operator_id=operator, player_id=name, currency_code=currency)
        self.books = Books()
        self.choices = Counter()
        self.numbers = count(1)
        open_account = ledger_pb2.OpenAccountRequest(request_id="open", account=self.account)
        # Log position of the answer that contained `self.seal`.
        self.position = 0
        self.seal = service.ask(service.ledger.OpenAccount, open_account).seal

    def request_id(self, word):
        return f"{word}-{next(self.numbers)}"

    def deposit(self, amount=DEPOSIT):
        request_id = self.request_id("deposit")
        request = ledger_pb2.DepositRequest(request_id=request_id, account=self.account, amount_minor=amount)
        self.service.ask(self.service.ledger.Deposit, request)
        self.books.deposits[request_id] = amount

    def withdraw(self, amount):
        request_id = self.request_id("withdraw")
        request = ledger_pb2.WithdrawRequest(request_id=request_id, account=self.account, amount_minor=amount)
        self.service.ask(self.service.ledger.Withdraw, request)
        self.books.withdrawals[request_id] = amount

    def bet(self, session, stake, **more):
        """Plays a round to its end; without `stake`, a free round. Deposits money if the balance is too small."""
        request = spin_pb2.SpinRequest(
            request_id=self.request_id("bet"),
            account=self.account,
            game=session.game,
            stake=stake,
            session_id=session.id,
            **more,
        )
        try:
            played = self.draw(self.service.spins.Spin, request)
        except Refused as refused:
            if refused.reason != "INSUFFICIENT_FUNDS":
                raise
            self.deposit(max(DEPOSIT, int(refused.metadata["bet_minor"])))
            played = self.draw(self.service.spins.Spin, request)
        self.finish(played.round_id, played.outcome, session.id)

    def draw(self, call, request):
        """Sends a new client seed. If other draws have changed the seal, retries with the new seal and another seed."""
        while True:
            request.client_seed, request.seal = secrets.token_bytes(32), self.seal
            try:
                played = self.service.ask(call, request).played
            except Refused as refused:
                if refused.reason != "SEAL_CHANGED":
                    raise
                self.seal = bytes.fromhex(refused.metadata["seal"])
            else:
                self.told(played, request.client_seed)
                return played

    def told(self, played, client_seed=None):
        """If the answer was received before, `self.seal` does not change."""
        self.books.told(played, client_seed)
        if played.position > self.position:
            self.position, self.seal = played.position, played.seal

    def finish(self, round_id, outcome, session_id=""):
        before = None
        while choice := self.choice(outcome, before):
            request = spin_pb2.ChooseRequest(
                request_id=self.request_id("choose"),
                round_id=round_id,
                choice=choice,
                session_id=session_id,
            )
            played = self.draw(self.service.spins.Choose, request)
            outcome, before = played.outcome, choice.WhichOneof("kind")
            self.choices[before] += 1

    def choice(self, outcome, before):
        made = round_pb2.Choice
        match outcome.awaiting:
            case round_pb2.AWAITING_NOTHING:
                return None
            case round_pb2.AWAITING_PICK:
                return made(pick=made.Pick(numbers=range(1, outcome.pick.needs + 1)))
            case round_pb2.AWAITING_FREE_SPINS:
                return made(start_free_spins=made.StartFreeSpins())
            case round_pb2.AWAITING_FEATURE:
                return made(start_feature=made.StartFeature())
            case round_pb2.AWAITING_DOUBLE:
                return self.gamble(before)
            case awaiting:
                raise NotImplementedError(f"a round waits for {round_pb2.Awaiting.Name(awaiting)}")

    def gamble(self, before):
        """Guesses once, then secures half of the win if the game allows it, then collects."""
        made = round_pb2.Choice
        if before == "double" and self.game.halve:
            return made(halve=made.Halve())
        if before in ("double", "halve"):
            return made(collect=made.Collect())
        return made(double=GUESSES[self.choices["double"] % 2])

    def catch_up(self):
        for round in history(self.service, self.account):
            if round.round_id in self.books.rounds:
                continue
            self.books.read(round)
            if round.state == round_pb2.ROUND_STATE_OPEN:
                self.finish(round.round_id, round.steps[-1].outcome)

    def leave(self):
        """Withdraws the balance, and returns the differences between the aggregator's books and the ledger."""
        self.catch_up()
        if self.books.balance() > 0:
            self.withdraw(self.books.balance())
        return differences(self.service, self.account, self.books)


class Session:
    def __init__(self, player, game, direct):
        request = spin_pb2.OpenSessionRequest(
            request_id=player.request_id("launch"), account=player.account, game=game, mode=spin_pb2.PLAY_MODE_REAL
        )
        self.service, self.game = player.service, game
        self.id = self.service.ask(self.service.spins.OpenSession, request).session_id
        # If this connection breaks, the session ends, and the game stays reserved for some seconds (BW-27).
        self.kept = direct.spins.KeepSession(spin_pb2.KeepSessionRequest(session_id=self.id), wait_for_ready=True)
        next(self.kept)

    def close(self):
        self.service.ask(self.service.spins.CloseSession, spin_pb2.CloseSessionRequest(session_id=self.id))
        assert next(self.kept, None) is None
