//! Writes a round as JSON. Symbols are names, amounts are decimals in the round's currency, and times are in ISO 8601.

use motherlode_audit::Replayed;
use motherlode_picture::{figures, round};
use motherlode_proto::{
    convert::play::hex,
    round::v1::{CarriedFigure, Mark, Money, Outcome, Round, SpinResult, Step, Void, Win, prize},
};
use motherlode_slots::GameInfo;
use motherlode_state::{Currency, Minor};
use serde_json::{Value, json};

pub(super) fn to_json(round: &Round, replayed: &Replayed) -> Value {
    let account = round.account.clone().unwrap_or_default();
    let of = Of { info: round::info(round), currency: account.currency_code.parse().ok() };
    let stake = round.stake.clone().unwrap_or_default();
    let verdicts = replayed.differs.iter().zip(1..).map(|(differs, number)| (differs, number <= replayed.resolved));
    let steps = round.steps.iter().zip(verdicts);
    let jackpots = round.jackpots.iter().map(|jackpot| {
        json!({
            "pool_id": jackpot.pool_id,
            "hit_position": jackpot.hit_position,
            "state": jackpot.state().as_str_name(),
            "amount": jackpot.amount.as_ref().map(cash),
            "currency_code": jackpot.amount.as_ref().map(|amount| &amount.currency_code),
        })
    });
    json!({
        "round_id": round.round_id,
        "operator_id": account.operator_id,
        "player_id": account.player_id,
        "currency_code": account.currency_code,
        "game": round.game,
        "rules_version": round.rules_version,
        "model_hash": round.model_hash,
        "time": round.start_time.as_ref().map(figures::time),
        "session_name": round.session_name,
        "jurisdiction": round.jurisdiction,
        "campaign_id": round.campaign_id,
        "stake": {
            "coin_value": stake.coin_value,
            "lines": stake.lines,
            "coins_per_line": stake.coins_per_line,
            "buy_feature": stake.buy_feature,
        },
        "witch": round.witch().as_str_name(),
        "carried": carried(&round.carried),
        "bet": round.bet.as_ref().map(cash),
        "contribution_eur": round.contribution_eur,
        "exchange_rate": round.exchange_rate,
        "balance_before": round.balance_before.as_ref().map(cash),
        "steps": steps.map(|(step, (differs, resolved))| of.step(step, differs.as_deref(), resolved)).collect::<Vec<_>>(),
        "state": round.state().as_str_name(),
        "awaiting": round.awaiting().as_str_name(),
        "win": round.win.as_ref().map(cash),
        "jackpots": jackpots.collect::<Vec<_>>(),
        "balance_after": round.balance_after.as_ref().map(cash),
        "void": round.void.as_ref().map(void),
        "matches": replayed.matches(),
    })
}

fn cash(money: &Money) -> String {
    let currency = money.currency_code.parse::<Currency>();
    currency.map_or_else(|_| money.amount_minor.to_string(), |currency| Minor(money.amount_minor).to_decimal(currency))
}

fn carried(figures: &[CarriedFigure]) -> Value {
    figures.iter().map(|of| (of.key.clone(), of.value.into())).collect::<serde_json::Map<_, _>>().into()
}

fn void(void: &Void) -> Value {
    json!({
        "actor": void.actor,
        "reference": void.reference,
        "reason": void.reason,
        "refund": void.refund.as_ref().map(cash),
        "win_taken_back": void.win_taken_back.as_ref().map(cash),
        "win_left": void.win_left.as_ref().map(cash),
        "position": void.position,
        "time": void.time.as_ref().map(figures::time),
    })
}

struct Of {
    info: Option<&'static GameInfo>,
    currency: Option<Currency>,
}

impl Of {
    fn step(&self, step: &Step, differs: Option<&str>, resolved: bool) -> Value {
        let choice = step.choice.clone().unwrap_or_default();
        json!({
            "number": step.number,
            "position": step.position,
            "time": step.time.as_ref().map(figures::time),
            "choice": round::chosen(self.info, &choice, step.automatic.as_ref()),
            "seed": hex(&step.seed),
            "draw": step.draw.as_ref().map(|draw| {
                json!({
                    "number": draw.number,
                    "client_seed": hex(&draw.client_seed),
                    "seal": hex(&draw.seal),
                    "dealt": hex(&draw.dealt),
                })
            }),
            "reference": step.reference,
            "outcome": step.outcome.as_ref().map(|outcome| self.outcome(outcome)),
            "win_so_far": step.win.as_ref().map(cash),
            "balance_before": step.balance_before.as_ref().map(cash),
            "balance_after": step.balance_after.as_ref().map(cash),
            "carried": carried(&step.carried),
            "resolved": resolved,
            "differs": differs,
        })
    }

    fn outcome(&self, outcome: &Outcome) -> Value {
        let reveals = |of: &[motherlode_proto::round::v1::Reveal]| -> Vec<_> {
            of.iter().map(|of| json!({ "number": of.number, "coins": of.coins })).collect()
        };
        let prize = outcome.prize.as_ref().and_then(|prize| {
            Some(match prize.kind.as_ref()? {
                prize::Kind::Multiple(multiple) => json!({ "multiple": multiple, "coins": prize.coins }),
                prize::Kind::FreeSpins(spins) => json!({ "free_spins": spins }),
                prize::Kind::Jackpot(_) => json!({ "jackpot": true }),
            })
        });
        let card = outcome.card.as_ref().map(|turn| {
            json!({
                "guess": turn.guess().as_str_name(),
                "drawn": turn.drawn().as_str_name(),
                "won": turn.won,
                "risked": self.minor(turn.risked_minor),
                "became": self.minor(turn.won_minor),
            })
        });
        json!({
            "spins": outcome.spins.iter().map(|spin| self.spin(spin)).collect::<Vec<_>>(),
            "prize": prize,
            "reveals": reveals(&outcome.reveals),
            "unopened": reveals(&outcome.unopened),
            "credited": (outcome.credited_minor > 0).then(|| self.minor(outcome.credited_minor)),
            "mean_coin_value": outcome.mean_coin_value.as_ref().map(|mean| {
                json!({ "value": mean.value, "sum": mean.sum, "count": mean.count })
            }),
            "card": card,
            "cards_latest_first": outcome.double_strip().map(|card| card.as_str_name()).collect::<Vec<_>>(),
            "jackpot": outcome.jackpot,
            "awaiting": outcome.awaiting().as_str_name(),
            "pick": outcome.pick.as_ref().map(|pick| json!({ "needs": pick.needs, "of": pick.of })),
            "free_spins_left": outcome.free_spins_left,
            "round_win_coins": outcome.round_win_coins,
            "round_win": self.minor(outcome.round_win_minor),
        })
    }

    fn spin(&self, spin: &SpinResult) -> Value {
        let rows = usize::try_from(spin.rows).unwrap_or_default().max(1);
        let reels = spin.cells.chunks(rows);
        let window: Vec<Vec<_>> =
            reels.map(|reel| reel.iter().map(|symbol| self.symbol(u32::from(*symbol))).collect()).collect();
        let collection = spin.kind() == motherlode_proto::round::v1::SpinKind::Collection;
        json!({
            "kind": spin.kind().as_str_name(),
            "stops": spin.stops,
            "rows": spin.rows,
            "reels": window,
            "multiplier": spin.multiplier,
            "ways": spin.ways,
            "super_high": collection.then(|| self.symbol(spin.collection_symbol)),
            "wins": spin.wins.iter().map(|win| self.win(win)).collect::<Vec<_>>(),
            "marks": spin.marks.iter().map(|mark| self.mark(mark, spin.rows)).collect::<Vec<_>>(),
            "win_coins": spin.win_coins,
            "win": self.minor(spin.win_minor),
            "free_spins_won": spin.free_spins_won,
            "bonus": spin.bonus,
        })
    }

    fn win(&self, win: &Win) -> Value {
        let place = match (win.line, win.ways) {
            (0, 0) => json!({ "scatter": true }),
            (0, ways) => json!({ "ways": ways }),
            (line, _) => json!({ "line": line }),
        };
        json!({ "place": place, "symbol": self.symbol(win.symbol), "count": win.count, "coins": win.coins })
    }

    fn mark(&self, mark: &Mark, rows: u32) -> Value {
        use motherlode_proto::round::v1::MarkKind::{Crystal, Potion, Question};
        let symbol = matches!(mark.kind(), Crystal | Potion | Question).then(|| self.symbol(mark.value));
        json!({
            "kind": mark.kind().as_str_name(),
            "reel": mark.cell.checked_div(rows).unwrap_or_default() + 1,
            "row": mark.cell.checked_rem(rows).unwrap_or_default() + 1,
            "value": mark.value,
            "symbol": symbol,
            "name": mark.name,
        })
    }

    fn symbol(&self, index: u32) -> String {
        let symbol = usize::try_from(index).ok().and_then(|index| self.info?.symbols.get(index));
        symbol.map_or_else(|| index.to_string(), |symbol| symbol.name.clone())
    }

    fn minor(&self, amount: u64) -> String {
        let minor = Minor(i64::try_from(amount).unwrap_or(i64::MAX));
        self.currency.map_or_else(|| amount.to_string(), |currency| minor.to_decimal(currency))
    }
}
