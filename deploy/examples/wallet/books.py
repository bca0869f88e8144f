"""Balances and transactions of the wallet; one database transaction per call.

Each transaction id is kept permanently with its content and result, so a repeated call has one effect and the same
answer, and a debit after its rollback is refused.
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

    def apply(self, transaction, player, currency, minor):
        """Applies a debit (negative) or a credit; returns outcome, balance, and the reason of a refusal."""
        with self.database.transaction(player) as execute:
            account = Account(execute, player, currency)
            known = account.known(transaction)
            if known:
                *content, ended = known
                if ended == "rolled back":
                    return REFUSED, account.balance, "ROLLED_BACK"
                if content != [player, currency, minor]:
                    return REFUSED, account.balance, "OTHER_CONTENT"
                outcome, reason = (DONE_BEFORE, "") if ended == "applied" else (REFUSED, ended)
                return outcome, account.balance, reason
            if account.balance + minor < 0:
                account.end(transaction, minor, "INSUFFICIENT_FUNDS")
                return REFUSED, account.balance, "INSUFFICIENT_FUNDS"
            account.end(transaction, minor, "applied")
            account.move(minor)
            return DONE, account.balance, ""

    def roll_back(self, transaction, player, currency, minor):
        """Undoes a debit, or prevents a later one with this id."""
        with self.database.transaction(player) as execute:
            account = Account(execute, player, currency)
            known = account.known(transaction)
            if known and known[:2] != (player, currency):
                # A rollback cannot be refused, and this one must not be applied: the wallet's operator has to act.
                raise ValueError(f"the rollback of {transaction} names another account")
            if known and known[3] == "rolled back":
                return DONE_BEFORE, account.balance, ""
            if known and known[3] == "applied":
                account.move(-known[2])
            account.end(transaction, -minor, "rolled back")
            return DONE, account.balance, ""

    def is_first(self, nonce, ms, oldest_ms):
        """Whether a nonce is new; deletes nonces from before a time."""
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

    def move(self, minor):
        self.balance += minor
        query = "INSERT INTO balances VALUES (?, ?, ?) ON CONFLICT (player, currency) DO UPDATE SET minor = excluded.minor"
        self.execute(query, (self.player, self.currency, self.balance))
