"""Plays all games on a service with access control, and reconciles the aggregator's books with the ledger to the cent.
The exit status is 0 only if books and ledger agree."""

import argparse
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc
import stubs

stubs.generate()

from lossy import Lossy  # noqa: E402  (these import what was generated just now)
from service import Refused, Service  # noqa: E402
from tour import GAMES, tour  # noqa: E402


def arguments():
    parser = argparse.ArgumentParser(prog="aggregator", description=__doc__)
    parser.add_argument("--target", default="127.0.0.1:50051", help="host:port of the service")
    parser.add_argument("--ca", type=Path, default="cert.pem", help="root of the service's certificate (PEM)")
    parser.add_argument("--token-file", type=Path, default="token", help="file with a token of the roles play and wallet")
    parser.add_argument("--operator", default="demo", help="operator of the token")
    parser.add_argument("--rounds", type=int, default=20, help="minimum rounds per game")
    parser.add_argument("--lose", type=int, metavar="N", help="lose about one answer in N")
    parser.add_argument("--answer-s", type=float, default=5.0, help="seconds to wait for an answer before a retry")
    return parser.parse_args()


def run(args):
    ca, token = args.ca.read_bytes(), args.token_file.read_text().strip()
    host, port = args.target.rsplit(":", 1)
    lossy = Lossy((host, int(port)), args.lose, 2 * args.answer_s) if args.lose else None
    address = lossy.address if lossy else args.target

    def connect(to=address):
        return Service(to, ca, token, host, args.answer_s)

    direct, service = connect(args.target), connect()
    try:
        grpc.channel_ready_future(direct.channel).result(timeout=10)
    except grpc.FutureTimeoutError:
        sys.exit(f"no service at {args.target} has a certificate issued by {args.ca}")
    with ThreadPoolExecutor(len(GAMES)) as threads:
        played = [threads.submit(tour, service, direct, connect, args.operator, game, args.rounds) for game in GAMES]
        reports = [of.result() for of in played]
    show(reports)
    lost = ", ".join(f"{count} {what}" for what, count in sorted(service.lost.items()))
    print(f"answers asked for again: {lost or 'none'}")
    differences = [difference for report in reports for difference in report.differences]
    for difference in differences:
        print(difference)
    print("the books do not agree" if differences else "the books agree with the ledger to the cent")
    return 1 if differences else 0


def show(reports):
    titles = ["game", "rounds", "free", "autoplay", "in", "out", "bet", "won", "jackpots", "choices"]
    rows = [titles, *(report.cells() for report in reports)]
    widths = [max(len(row[place]) for row in rows) for place in range(len(titles))]
    for row in rows:
        cells = [cell.rjust(width) for cell, width in zip(row, widths)]
        cells[0], cells[-1] = row[0].ljust(widths[0]), row[-1]
        print("  ".join(cells))


if __name__ == "__main__":
    try:
        sys.exit(run(arguments()))
    except Refused as refused:
        sys.exit(f"refused: {refused}")
