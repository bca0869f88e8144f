import csv
import datetime
import io
import json
import subprocess
from collections import Counter
from decimal import Decimal

import pyarrow
import pyarrow.parquet
from client import bet
from conftest import BINARY

from motherlode.ledger.v1 import ledger_pb2


def export(log, what, *more):
    done = subprocess.run([BINARY, "export", what, *log, *more], capture_output=True, timeout=120)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout, done.stderr.decode()


def play(client):
    for name in ["alice", "bob"]:
        account = client.fund(name)
        for number in range(12):
            played = client.play_out(bet(f"r{number}", account, coin_value="0.10"))
            if number % 5 == 0:
                client.ledger.VoidRound(
                    ledger_pb2.VoidRoundRequest(
                        request_id=f"v{number}", round_id=played[0].round_id, reason="reel", actor="ann"
                    )
                )
        client.ledger.Withdraw(ledger_pb2.WithdrawRequest(request_id="out", account=account, amount_minor=321))


def rows_of(log, what, folder):
    file = folder / f"{what}.parquet"
    export(log, what, "--format", "parquet", "--out", file)
    table = pyarrow.parquet.read_table(file)
    groups = pyarrow.parquet.ParquetFile(file).metadata
    for number in range(groups.num_columns if groups.num_row_groups else 0):
        assert groups.row_group(0).column(number).compression == "GZIP"
    for column in table.schema:
        if column.name == "date":
            assert column.type == pyarrow.date32()
        assert not pyarrow.types.is_floating(column.type), f"{column.name} of {what} is a float"
        if column.name.endswith("_minor"):
            assert column.type == pyarrow.int64()
    rows = table.to_pylist()
    lines = [json.loads(line) for line in export(log, what, "--format", "jsonl")[0].splitlines()]
    plain = list(csv.DictReader(io.StringIO(export(log, what)[0].decode(), newline="")))
    assert len(rows) == len(lines) == len(plain)
    assert [list(row) for row in rows] == [list(row) for row in lines] == [list(row) for row in plain]
    for row, line, texts in zip(rows, lines, plain):
        for name, value in row.items():
            if isinstance(value, int):
                assert value == line[name] == int(texts[name])
            elif isinstance(line[name], dict):
                assert json.loads(value) == line[name] == json.loads(texts[name])
            elif isinstance(value, str):
                assert value == line[name] == texts[name]
            elif type(value) is datetime.date:
                assert value.isoformat() == line[name] == texts[name]
            elif value is None:
                assert line[name] is None and texts[name] == ""
            else:
                said = value.strftime("%Y-%m-%dT%H:%M:%S.") + f"{value.microsecond // 1000:03}Z"
                assert said == line[name] == texts[name]
    return rows


def minor(cash, digits=2):
    return int(Decimal(cash.split()[0]).scaleb(digits))


def test_pl_34_each_format_says_the_same_and_adds_up_to_the_audit(start, tmp_path):
    service = start()
    client = service.client()
    play(client)
    client.close()
    live = {what: rows_of([f"http://{service.address}"], what, tmp_path) for what in ["rounds", "revenue"]}
    assert service.terminate() == 0
    tables = {what: rows_of(service.log_arguments, what, tmp_path) for what in ["rounds", "transactions", "revenue", "events"]}
    assert tables["rounds"] == live["rounds"] and tables["revenue"] == live["revenue"]

    audited = subprocess.run([BINARY, "audit", *service.log_arguments, "--format", "json"], capture_output=True, check=True)
    report = json.loads(audited.stdout)
    totals, voids = report["totals"][0], report["voids"][0]

    def total(what, column):
        return sum(row[column] for row in tables[what])

    assert len(tables["rounds"]) == totals["rounds"] == total("revenue", "rounds") == 24
    assert total("rounds", "bet_minor") == total("revenue", "bets_minor") == minor(totals["bets"])
    assert total("rounds", "win_minor") == total("revenue", "wins_minor") == minor(totals["wins"])
    assert total("rounds", "refund_minor") == total("revenue", "refunds_minor") == minor(voids["refunds"])
    taken_back = total("revenue", "wins_taken_back_minor")
    assert total("rounds", "win_taken_back_minor") == taken_back == minor(voids["wins_taken_back"])
    assert sum(row["state"] == "voided" for row in tables["rounds"]) == voids["rounds"] == 6
    kinds = Counter()
    for row in tables["transactions"]:
        kinds[row["kind"]] += row["amount_minor"]
    assert -kinds["bet"] == minor(totals["bets"]) and kinds["win"] == minor(totals["wins"])
    assert kinds["withdrawal"] == -642
    assert len(tables["events"]) >= report["commits"]
    assert len({row["position"] for row in tables["events"]}) == report["commits"]


def test_pl_34_a_table_of_nothing_says_so_and_can_be_read(start, tmp_path):
    service = start()
    place = [f"http://{service.address}"]
    file = tmp_path / "none.parquet"
    _, said = export(place, "rounds", "--format", "parquet", "--out", file)
    assert "No activity" in said
    table = pyarrow.parquet.read_table(file)
    assert table.num_rows == 0 and "bet_minor" in table.column_names
    assert export(place, "rounds")[0].count(b"\r\n") == 1
    assert export(place, "rounds", "--format", "jsonl")[0] == b""
