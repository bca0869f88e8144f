"""Plays a round with the client that openapi-python-client generated into the folder `generated`."""

import sys

from generated import Client, models
from generated.api.ledger_service import ledger_service_deposit, ledger_service_get_round, ledger_service_open_account
from generated.api.spin_service import spin_service_spin

client = Client(base_url=sys.argv[1])
account = models.MotherlodeRoundV1AccountInput(operator_id="demo", player_id="python", currency_code="EUR")
opening = models.MotherlodeLedgerV1OpenAccountRequest(request_id="open", account=account)
ledger_service_open_account.sync(client=client, body=opening)
deposit = models.MotherlodeLedgerV1DepositRequest(request_id="deposit", account=account, amount_minor="1000")
ledger_service_deposit.sync(client=client, body=deposit)
stake = models.MotherlodeRoundV1StakeInput(coin_value="0.10", lines=15, coins_per_line=1)
bet = models.MotherlodeSpinV1SpinRequest(request_id="spin", account=account, game="neptune", stake=stake)
played = spin_service_spin.sync(client=client, body=bet).played
found = ledger_service_get_round.sync(client=client, body=models.MotherlodeLedgerV1GetRoundRequest(round_id=played.round_id))
print(found.round_.round_id, found.round_.state)
