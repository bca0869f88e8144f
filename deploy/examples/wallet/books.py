"""Balances and transactions of the wallet, with one database transaction per call.

README.md states the rules for transaction ids.
"""

DONE, DONE_BEFORE, REFUSED = "DONE", "DONE_BEFORE", "REFUSED"


class Books:
    def __init__(self, database):
        self.database = database

    def give(self, player, currency, minor):
        with self.database.transaction(player) as execute:
            Account(execute, player, currency).move(minor)

    def balance(self, player, currency):
        with self.database.transaction(player) as execute:
            return Account(execute, player, currency).balance

    def apply(self, transaction, player, currency, minor, round_id="", note=None, stores_refusal=True):
        """Applies a debit (amount below 0), a credit, or a call without money (amount 0). Returns outcome, balance and
        reason.

        If the call is applied, `note` stores the call's round in the same database transaction."""
        with self.database.transaction(player) as execute:
            account = Account(execute, player, currency)
            known = account.known(transaction)
            if known:
                *content, ended = known
                if ended == "rolled back":
                    return REFUSED, account.balance, "ROLLED_BACK"
                if content != [player, currency, minor] or account.opened_other(transaction, round_id):
                    return REFUSED, account.balance, "DUPLICATE_CONTENT"
                outcome, reason = (DONE_BEFORE, "") if ended == "applied" else (REFUSED, ended)
                return outcome, account.balance, reason
            if account.balance + minor < 0:
                if stores_refusal:
                    account.end(transaction, minor, "INSUFFICIENT_FUNDS")
                return REFUSED, account.balance, "INSUFFICIENT_FUNDS"
            account.end(transaction, minor, "applied")
            account.move(minor)
            if note:
                note(account)
            return DONE, account.balance, ""

    def roll_back(self, transaction, player, currency, minor, round_id=""):
        """Undoes a debit or the opening of a free round. If the call to be undone arrives later, the wallet refuses
        it."""
        with self.database.transaction(player) as execute:
            account = Account(execute, player, currency)
            known = account.known(transaction)
            if known and known[:2] != (player, currency):
                raise ValueError(f"the rollback of {transaction} names another account")
            if known and known[3] == "rolled back":
                return DONE_BEFORE, account.balance, ""
            if known and known[3] == "applied":
                if account.is_paid(round_id):
                    raise ValueError(f"the rollback of {transaction} names a round that was played")
                account.move(-known[2])
                execute("DELETE FROM rounds WHERE id = ?", (round_id,))
            account.end(transaction, -minor, "rolled back")
            return DONE, account.balance, ""

    def is_first(self, nonce, ms, oldest_ms):
        """Returns whether a nonce is new. Deletes nonces that are too old to be accepted again."""
        with self.database.transaction("") as execute:
            execute("DELETE FROM nonces WHERE ms < ?", (oldest_ms,))
            return execute("INSERT INTO nonces VALUES (?, ?) ON CONFLICT DO NOTHING", (nonce, ms)).rowcount == 1


class Account:
    def __init__(self, execute, player, currency):
        self.execute, self.player, self.currency = execute, player, currency
        query = "SELECT minor FROM balances WHERE player = ? AND currency = ?"
        row = execute(query, (player, currency)).fetchone()
        self.balance = row[0] if row else 0

    def known(self, transaction):
        query = "SELECT player, currency, minor, ended FROM transactions WHERE id = ?"
        return self.execute(query, (transaction,)).fetchone()

    def end(self, transaction, minor, ended):
        query = "INSERT INTO transactions VALUES (?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET ended = excluded.ended"
        self.execute(query, (transaction, self.player, self.currency, minor, ended))

    def opened_other(self, transaction, round_id):
        row = self.execute("SELECT id FROM rounds WHERE opened = ?", (transaction,)).fetchone()
        return row is not None and row[0] != round_id

    def is_paid(self, round_id):
        query = "SELECT 1 FROM rounds WHERE id = ? AND (won > 0 OR jackpots > 0 OR closings > 0)"
        return self.execute(query, (round_id,)).fetchone() is not None

    def open(self, transaction, round, bet):
        query = "INSERT INTO rounds VALUES (?, ?, ?, ?, ?, ?, '', '', '', ?, 0, 0, 0, 0) ON CONFLICT (id) DO NOTHING"
        values = (round.round_uuid, self.player, self.currency, round.game, round.campaign_id, transaction, bet)
        self.execute(query, values)

    def note(self, transaction, round, end, column=None, minor=0):
        """Adds an amount to a round, and records its end. Creates the free round if OpenFreeRound did not create it."""
        if round.campaign_id:
            self.open(round.opening_transaction_id, round, 0)
        if column:
            query = f"UPDATE rounds SET {column} = {column} + ? WHERE id = ?"
            self.execute(query, (minor, round.round_uuid))
        if not round.closed:
            return
        if end == "VOIDED":
            query = "UPDATE rounds SET voided = ? WHERE id = ? AND voided = ''"
            self.execute(query, (transaction, round.round_uuid))
        # If an ended round is voided, its recorded end does not change.
        query = "UPDATE rounds SET closed = ?, ended = ? WHERE id = ? AND closed = ''"
        self.execute(query, (transaction, end, round.round_uuid))
        self.execute("UPDATE rounds SET closings = closings + 1 WHERE id = ?", (round.round_uuid,))

    def move(self, minor):
        self.balance += minor
        query = "INSERT INTO balances VALUES (?, ?, ?) ON CONFLICT (player, currency) DO UPDATE SET minor = excluded.minor"
        self.execute(query, (self.player, self.currency, self.balance))
