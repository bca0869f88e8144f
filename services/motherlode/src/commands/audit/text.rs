use super::sums::{cash, returned, to_be_pooled, totals};
use crate::figures::{grouped, percent};
use motherlode_audit::{Comparison, Report, Return, Seals, Voids, Whole};
use motherlode_log::Tail;
use motherlode_proto::convert::play::hex;
use motherlode_state::{Award, Currency, Nano, PerCurrency, PoolState, PoolStatus};

const SHOWN: usize = 10;
const PLACES: usize = 4;

pub(super) fn text(whole: &Whole) -> String {
    let mut lines = vec![];
    let Whole { partitions, in_transit, .. } = whole;
    match whole.divergence() {
        Some(divergence) => lines.push(format!("DIVERGENCE at {divergence}")),
        None => {
            for report in partitions {
                lines.extend(log(report));
            }
            lines.extend(played(&whole.returns(), &whole.voids()));
            for home in partitions.iter().take(1) {
                lines.extend(home.books.pools().flat_map(|pool| statement(home, pool, partitions.len())));
            }
            if partitions.len() > 1 {
                lines.extend(section("Between partitions"));
                lines.push(row("amount sent by one partition and not yet received by another", &eur(*in_transit)));
            }
            lines.extend(draws(&whole.seals(), whole.sealed()));
            lines.extend(waiting(partitions));
            lines.extend([String::new(), "All checks passed.".to_owned()]);
        }
    }
    lines.push(String::new());
    lines.join("\n")
}

fn section(title: &str) -> [String; 2] {
    [String::new(), format!("── {title} {}", "─".repeat(76_usize.saturating_sub(title.chars().count())))]
}

fn row(label: &str, figure: &str) -> String {
    let dots = ".".repeat(74_usize.saturating_sub(label.chars().count() + figure.chars().count()));
    format!("  {label} {dots} {figure}")
}

fn count(count: impl ToString) -> String {
    grouped(&count.to_string())
}

fn log(report: &Report) -> Vec<String> {
    let Report { partition, position, head, tail, index, returns, books, .. } = report;
    let sum = |figure: fn(&Return) -> u64| count(returns.iter().map(figure).sum::<u64>());
    let mut lines = vec![
        format!("Log of partition {partition}: verified to position {}", count(position)),
        format!("  head hash  {}", hex(head)),
        format!("  tail  {}", of_tail(tail)),
    ];
    lines.push(match index {
        Comparison::Compared { balances, held } => {
            format!(
                "  index compared at position {1}: its {0} balances equal those of the log",
                count(balances),
                count(held)
            )
        }
        Comparison::NotCompared { why } => format!("  index not compared: {why}"),
    });
    if let Some(base) = &report.base {
        let logged = if base.is_logged {
            "equal to the digest logged by `base take`"
        } else {
            "not compared, because `base take` logged no digest"
        };
        lines.push(format!(
            "  digest of the state at position {}, format {}: {logged}",
            count(base.position),
            base.form
        ));
        lines.push(format!("    {}", hex(&base.digest)));
    }
    if !report.checkpoints.is_empty() {
        let sizes: Vec<_> = report.checkpoints.iter().map(count).collect();
        let tree = report.tree.map_or(String::new(), |size| {
            format!("; the files of the Merkle tree match the log up to record {}", count(size))
        });
        lines.push(format!("  checkpoints of this log: signed for the first {} records{tree}", sizes.join(", ")));
    }
    lines.extend([
        row("commits", &count(position)),
        row("players", &count(books.players().count())),
        row("rounds", &sum(|of| of.rounds)),
        row("steps, each recomputed; all bytes match the log", &sum(|of| of.steps)),
        row("spins, including free spins", &sum(|of| of.spins)),
    ]);
    lines
}

fn of_tail(tail: &Tail) -> String {
    match tail {
        Tail::Clean => "clean".to_owned(),
        Tail::Torn { file, offset, bytes } => {
            format!("{bytes} bytes of an unacknowledged append, from byte {offset} of {}", file.display())
        }
    }
}

fn played(played: &[Return], voids: &PerCurrency<Voids>) -> Vec<String> {
    let mut lines = vec![];
    for (currency, _, bets, wins, awarded) in totals(played) {
        let what = if currency.is_real() { "" } else { ", play money" };
        lines.extend(section(&format!("Played in {currency}{what}")));
        lines.extend([row("bets", &money(bets, currency)), row("wins", &money(wins, currency))]);
        lines.push(row("jackpots awarded", &money(awarded, currency)));
        let of = played.iter().filter(|of| of.currency == currency);
        let (free, promoted) = of.fold((0, 0), |(rounds, bets), of| (rounds + of.free, bets + of.free_bets));
        if free > 0 {
            lines
                .push(row(&format!("bets of {} free rounds, included above", count(free)), &money(promoted, currency)));
        }
        let voids = voids.get(currency).copied().unwrap_or_default();
        if voids.rounds > 0 {
            lines.push(row(
                &format!("refunds of {} voided rounds", count(voids.rounds)),
                &money(voids.refunds, currency),
            ));
            lines.push(row("wins of voided rounds, taken back from players", &money(voids.wins_taken_back, currency)));
            lines.push(row("wins of voided rounds, kept by players", &money(voids.wins_left, currency)));
        }
        lines.extend(played.iter().filter(|of| of.currency == currency).flat_map(returns));
    }
    lines
}

fn draws(seals: &Seals, held: u64) -> Vec<String> {
    let Seals { opened, unsealed, key_lost, ended, unsure_starts, refused_starts, rounds_lost, checked, unchecked } =
        *seals;
    if refused_starts + opened + unsealed + key_lost == 0 {
        return vec![];
    }
    let mut lines = section("Sealed draws").to_vec();
    lines.push(row("players whose first seal is in the log", &count(opened + unsealed)));
    lines.push(row("draws revoked because their key was lost", &count(key_lost)));
    if refused_starts > 0 {
        lines.push(row("times that the service refused to start", &count(refused_starts)));
    }
    if unsure_starts > 0 {
        lines.push(row("starts of the service that revoked unused seals", &count(unsure_starts)));
        lines.push(row("draws sealed again because a start of the service revoked their seals", &count(ended)));
    }
    lines.push(row("sealed steps of open rounds, revealed when the rounds end", &count(held)));
    if checked + unchecked > 0 {
        lines.push(row("seals recomputed from their draw keys", &count(checked)));
        lines.push(row("seals whose draw key is not in the draw key file", &count(unchecked)));
    }
    if rounds_lost > 0 {
        lines.push(row("voided rounds whose draws cannot be revealed", &count(rounds_lost)));
    }
    lines
}

fn returns(of: &Return) -> Vec<String> {
    let share = |won| returned(won, of.bets).map_or("-".to_owned(), |share| percent(&share, PLACES));
    vec![
        format!("  {} {}: {} rounds, {} jackpots hit", of.game, of.rules_version, count(of.rounds), count(of.hits)),
        row("  return to player without the jackpot", &share(of.wins)),
        row("  return to player including the awarded jackpots", &share(of.wins + of.awarded)),
    ]
}

fn statement(report: &Report, pool: &PoolState, partitions: usize) -> Vec<String> {
    let status = match &pool.status {
        PoolStatus::Active => "active".to_owned(),
        PoolStatus::Suspended => "suspended".to_owned(),
        PoolStatus::Retired { into, .. } => format!("retired, money moved to {into}"),
    };
    let mut lines = section(&format!("Pool {}: {status}, cycle {}", pool.name, count(pool.cycle))).to_vec();
    let waiting = to_be_pooled(report, &pool.name, partitions);
    lines.extend([
        row("contributions", &eur(pool.contributions)),
        row("seed money from the house", &eur(pool.house_funding)),
        row("paid", &eur(pool.paid)),
        row("increments of the current jackpot cycle", &eur(pool.increments)),
        row("reserve", &eur(pool.reserve)),
        row("base pool (seed and increments)", &eur(pool.base())),
        row("contributions not yet in the pool", &eur(waiting)),
    ]);
    let plain = |figure: Nano| grouped(&figure.to_string());
    let mut sources = format!("{} + {}", plain(pool.contributions), plain(pool.house_funding));
    let mut uses = format!("{} + {} + {}", plain(pool.paid), plain(pool.increments), plain(pool.reserve));
    if pool.moved_in != Nano::ZERO || pool.moved_out != Nano::ZERO {
        lines.push(row("moved in from retired pools", &eur(pool.moved_in)));
        lines.push(row("moved out when this pool was retired", &eur(pool.moved_out)));
        sources += &format!(" + {}", plain(pool.moved_in));
        uses += &format!(" + {}", plain(pool.moved_out));
    }
    lines.push(format!("  {sources} = {uses}"));
    let awards = report.awards.get(&*pool.name).map(Vec::as_slice).unwrap_or_default();
    lines.extend(last(awards.iter().map(award), awards.len(), "awards"));
    lines
}

fn award(award: &Award) -> String {
    let share = if award.collision { " (rule for a second hit before the jackpot display is refreshed)" } else { "" };
    let who = format!("{} round {}", award.stream, award.round);
    format!(
        "  award for the jackpot hit at position {}: {} to {who}{share}",
        award.hit,
        money(award.amount.0.into(), award.currency)
    )
}

fn waiting(partitions: &[Report]) -> Vec<String> {
    let books = || partitions.iter().map(|report| &report.books);
    let unpaid: Vec<_> = books().flat_map(|books| books.unpaid_awards()).collect();
    let unpaid_lines = unpaid.iter().map(|(_, hit, award)| {
        let amount = money(award.amount.0.into(), award.currency);
        format!("  unpaid award: {amount} to {}, round {}, hit at position {hit}", award.stream, award.round)
    });
    let players = books().flat_map(|books| books.players());
    let open: Vec<_> = players
        .flat_map(|(operator, player, state)| state.open_rounds().map(move |open| (operator, player, open)))
        .collect();
    let open_lines = open.iter().map(|(operator, player, open)| {
        let started = &open.started;
        let bet = money(started.bet.0.into(), started.currency);
        format!(
            "  open round: {operator}/{player}/{} of the game {}, bet {bet}, opened at position {}",
            started.round, started.game, open.opened_at
        )
    });
    let off: Vec<_> = books().take(1).flat_map(|books| books.switched_off()).collect();
    let off_lines = off.iter().map(|(switch, off)| {
        format!("  switched off: {switch}, at position {} by {}; reason: {}", off.position, off.actor, off.reason)
    });
    let mut lines = section("Waiting").to_vec();
    lines.push(row("awards to be paid", &count(unpaid.len())));
    lines.extend(last(unpaid_lines, unpaid.len(), "unpaid awards"));
    lines.push(row("rounds open", &count(open.len())));
    lines.extend(last(open_lines, open.len(), "open rounds"));
    let under_way: Vec<_> = partitions.iter().flat_map(Report::under_way).collect();
    if !under_way.is_empty() {
        lines.push(row("transactions pending with operators' wallets", &count(under_way.len())));
        let under_way_lines = under_way.iter().map(|id| format!("  pending: {id}"));
        lines.extend(last(under_way_lines, under_way.len(), "pending transactions"));
    }
    lines.push(row("switched off", &count(off.len())));
    lines.extend(last(off_lines, off.len(), "switches"));
    lines
}

fn last(lines: impl Iterator<Item = String>, all: usize, what: &str) -> Vec<String> {
    let left_out = all.saturating_sub(SHOWN);
    let more = (left_out > 0).then(|| format!("  ({} {what} before these)", count(left_out)));
    more.into_iter().chain(lines.skip(left_out)).collect()
}

fn money(minor: i128, currency: Currency) -> String {
    grouped(&cash(minor, currency))
}

fn eur(figure: Nano) -> String {
    grouped(&format!("{figure} EUR"))
}
