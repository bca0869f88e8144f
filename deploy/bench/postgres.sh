#!/bin/sh
# Compares Motherlode with PostgreSQL 15, alternately on one machine and disk.
#
# In PostgreSQL a round is one transaction, with fsync and synchronous_commit. The transaction
# updates the only jackpot row last, so the lock is brief. Two variants are measured: separate statements, and one
# stored function. PostgreSQL does not draw or evaluate spins.
#
#     deploy/bench/postgres.sh [turns] [seconds per turn]
#
# FOLDER (default: target) receives the data. MOTHERLODE is the binary (default: built by this script). If postgresql-15 is
# missing, the script installs Debian's package, which requires root.
set -eu
cd "$(dirname "$0")/../.."
turns=${1:-3} seconds=${2:-5} clients=32 connections=4 players=1000
bin=/usr/lib/postgresql/15/bin

if [ ! -x $bin/initdb ]; then
    apt-get update -q && apt-get install -qy --no-install-recommends postgresql-15
fi
if [ -z "${MOTHERLODE:-}" ]; then
    cargo build --release --quiet
    MOTHERLODE=target/release/motherlode
fi

work=$(mktemp -d -p "${FOLDER:-target}")
work=$(cd "$work" && pwd)
served=
ended() {
    [ -z "$served" ] || kill "$served" 2>/dev/null || true
    [ ! -f "$work/postgres/postmaster.pid" ] || database pg_ctl stop -s -m immediate -D "$work/postgres" || true
    rm -rf "$work"
}
trap ended EXIT
trap 'exit 1' INT TERM

database() {
    command=$1 && shift
    if [ "$(id -u)" = 0 ]; then runuser -u postgres -- "$bin/$command" "$@"; else "$bin/$command" "$@"; fi
}
chmod 755 "$work"
mkdir "$work/postgres"
[ "$(id -u)" != 0 ] || chown postgres "$work/postgres"
database initdb -D "$work/postgres" -U postgres --auth=trust >/dev/null
port=$((20000 + $$ % 20000))
database pg_ctl start -s -w -D "$work/postgres" -l "$work/postgres/log" -o "-p $port -h 127.0.0.1 -k '' \
    -c fsync=on -c synchronous_commit=on -c shared_buffers=512MB -c max_wal_size=8GB -c jit=off"
export PGHOST=127.0.0.1 PGPORT=$port PGUSER=postgres PGDATABASE=postgres

psql -q -v ON_ERROR_STOP=1 <<SQL
CREATE TABLE account (player bigint PRIMARY KEY, balance_minor bigint NOT NULL CHECK (balance_minor >= 0));
CREATE TABLE round (player bigint, request_id uuid, seed bytea, outcome bytea, bet_minor bigint, win_minor bigint,
    contribution numeric(38, 9), at timestamptz DEFAULT now(), PRIMARY KEY (player, request_id));
CREATE TABLE jackpot (pool text PRIMARY KEY, increments numeric(38, 9) NOT NULL);
INSERT INTO account SELECT player, 1000000000000 FROM generate_series(1, $players) AS player;
INSERT INTO jackpot VALUES ('bewitched', 0);
-- The seed and the outcome have as many bytes as the service logs for a round.
CREATE FUNCTION play(who bigint) RETURNS bigint LANGUAGE plpgsql AS \$\$
DECLARE balance bigint;
BEGIN
    UPDATE account SET balance_minor = balance_minor - 150 + 141 WHERE player = who AND balance_minor >= 150
        RETURNING balance_minor INTO balance;
    INSERT INTO round (player, request_id, seed, outcome, bet_minor, win_minor, contribution)
        VALUES (who, gen_random_uuid(), decode(repeat('a5', 32), 'hex'), decode(repeat('5a', 64), 'hex'), 150, 141, 0.0075);
    UPDATE jackpot SET increments = increments + 0.0075 WHERE pool = 'bewitched';
    RETURN balance;
END \$\$;
SQL
cat >"$work/function.sql" <<SQL
\set who random(1, $players)
SELECT play(:who);
SQL
cat >"$work/statements.sql" <<SQL
\set who random(1, $players)
BEGIN;
UPDATE account SET balance_minor = balance_minor - 150 + 141 WHERE player = :who AND balance_minor >= 150;
INSERT INTO round (player, request_id, seed, outcome, bet_minor, win_minor, contribution)
    VALUES (:who, gen_random_uuid(), decode(repeat('a5', 32), 'hex'), decode(repeat('5a', 64), 'hex'), 150, 141, 0.0075);
UPDATE jackpot SET increments = increments + 0.0075 WHERE pool = 'bewitched';
COMMIT;
SQL

: >"$work/serve.log"
"$MOTHERLODE" serve --listen 127.0.0.1:0 --data "$work/data" >"$work/serve.log" 2>&1 &
served=$!
tries=0
until address=$(sed -n 's/.*listens on \([^,]*\),.*/\1/p' "$work/serve.log") && [ -n "$address" ]; do
    tries=$((tries + 1)) && [ $tries -le 100 ] && kill -0 $served || { cat "$work/serve.log" >&2; exit 1; }
    sleep 0.1
done

rounds_in_sql() {
    "$bin/pgbench" -n -M prepared -c $clients -j 2 -T "$seconds" -f "$work/$1.sql" | sed -n 's/^tps = \([0-9.]*\).*/\1/p'
}
rounds_of_motherlode() {
    "$MOTHERLODE" loadtest --target "http://$address" --concurrency $clients --connections $connections \
        --players $players --rounds 100_000_000 --seconds-max "$seconds" --format json |
        sed -n 's/.*"rounds_per_second": \([0-9.]*\).*/\1/p'
}
for turn in $(seq "$turns"); do
    for nth in 0 1 2; do
        case $(((turn + nth) % 3)) in
        0) motherlode=$(rounds_of_motherlode) ;;
        1) statements=$(rounds_in_sql statements) ;;
        2) function=$(rounds_in_sql function) ;;
        esac
    done
    echo "turn $turn: motherlode $motherlode, statements $statements, function $function rounds/s" >&2
    echo "$motherlode $statements $function" >>"$work/turns"
done
for way in 2:statements 3:function; do
    awk -v way="${way%:*}" '{ print $1 / $way }' "$work/turns" | sort -n | awk -v way="${way#*:}" '{ r[NR] = $1 }
        END { printf "motherlode / PostgreSQL (%s) = %.1f (%.1f to %.1f)\n", way, r[int((NR + 1) / 2)], r[1], r[NR] }'
done
