#!/bin/sh
# Compares Motherlode with TigerBeetle's own benchmark. The two programs run alternately on one disk.
#
# A round is three transfers: bet, win and contribution. In the first variant, 32 clients each send the transfers of one
# round and wait. In the second variant, one client sends full batches of 8,189 transfers. TigerBeetle does not draw or
# evaluate spins.
#
#     TIGERBEETLE=/path/to/tigerbeetle deploy/bench/tigerbeetle.sh [turns] [seconds per turn]
#
# TIGERBEETLE is a release of July 2026 or later, with the option --transfer-batch-count. FOLDER (default: target) receives
# the data. MOTHERLODE is the binary (default: built by this script).
set -eu
cd "$(dirname "$0")/../.."
turns=${1:-3} seconds=${2:-5} clients=32 connections=4 players=1000
if [ -z "${TIGERBEETLE:-}" ]; then
    echo "TIGERBEETLE must name the binary" >&2
    exit 2
fi
if [ -z "${MOTHERLODE:-}" ]; then
    cargo build --release --quiet
    MOTHERLODE=target/release/motherlode
fi

work=$(mktemp -d -p "${FOLDER:-target}")
work=$(cd "$work" && pwd)
served=
ended() {
    [ -z "$served" ] || { kill "$served" 2>/dev/null && wait "$served" 2>/dev/null; } || true
    rm -rf "$work"
}
trap ended EXIT
trap 'exit 1' INT TERM

: >"$work/serve.log"
"$MOTHERLODE" serve --listen 127.0.0.1:0 --data "$work/data" >"$work/serve.log" 2>&1 &
served=$!
tries=0
until address=$(sed -n 's/.*listens on \([^,]*\),.*/\1/p' "$work/serve.log") && [ -n "$address" ]; do
    tries=$((tries + 1)) && [ $tries -le 100 ] && kill -0 $served || { cat "$work/serve.log" >&2; exit 1; }
    sleep 0.1
done

rounds_of_motherlode() {
    "$MOTHERLODE" loadtest --target "http://$address" --concurrency $clients --connections $connections \
        --players $players --rounds 100_000_000 --seconds-max "$seconds" --format json |
        sed -n 's/.*"rounds_per_second": \([0-9.]*\).*/\1/p'
}
rounds_of_tigerbeetle() {
    (cd "$work" && "$TIGERBEETLE" benchmark --account-count=$players --clients="$1" --transfer-batch-count="$2" \
        --transfer-count="$3" 2>"$work/tigerbeetle.log") | tee "$work/tigerbeetle.out" |
        sed -n 's/^load accepted = \([0-9.]*\) tx.*/\1/p' | awk '{ print $1 / 3 }'
    grep -q '^load accepted' "$work/tigerbeetle.out" || { cat "$work/tigerbeetle.out" "$work/tigerbeetle.log" >&2; return 1; }
}
# TigerBeetle's benchmark takes a number of transfers instead of a duration. On two cores, these numbers of transfers
# take about as long as one turn.
single=$((6000 * seconds)) batched=$((300000 * seconds))
for turn in $(seq "$turns"); do
    for nth in 0 1 2; do
        case $(((turn + nth) % 3)) in
        0) motherlode=$(rounds_of_motherlode) ;;
        1) one=$(rounds_of_tigerbeetle $clients 3 $single) ;;
        2) batch=$(rounds_of_tigerbeetle 1 8189 $batched) ;;
        esac
    done
    echo "turn $turn: motherlode $motherlode, one round a request $one, full batches $batch rounds/s" >&2
    echo "$motherlode $one $batch" >>"$work/turns"
done
for way in "2:one round a request" "3:full batches"; do
    awk -v way="${way%%:*}" '{ print $1 / $way }' "$work/turns" | sort -n | awk -v way="${way#*:}" '{ r[NR] = $1 }
        END { printf "motherlode / TigerBeetle (%s) = %.2f (%.2f to %.2f)\n", way, r[int((NR + 1) / 2)], r[1], r[NR] }'
done
