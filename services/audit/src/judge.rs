//! Applies each player's commit to the auditor's books, which refuse a commit that violates an invariant
//! ([`Share::apply_recorded`], PL-09). Also checks logged balances, campaigns and play money.

use crate::{
    campaigns::Campaigns,
    cancelled::Cancelled,
    demo::Demo,
    divergence::Fault,
    recalled::Recalled,
    report::{Seals, Voids},
};
use motherlode_ledger::{DrawKeys, may_propose};
use motherlode_log::Hash;
use motherlode_proto::convert::{
    play::hex,
    record::{Logged, Proposer},
};
use motherlode_rounds::draws;
use motherlode_state::{
    Commit, Currency, Event, Left, Minor, PerCurrency, PlayerState, Refused, Share, StreamId, draw,
};

pub(crate) struct Judge<'a> {
    pub(crate) share: Share,
    pub(crate) campaigns: Campaigns,
    pub(crate) demo: Demo,
    cancelled: Cancelled,
    pub(crate) voids: PerCurrency<Voids>,
    pub(crate) seals: Seals,
    pub(crate) draws: Option<DrawKeys>,
    partition: u32,
    partitions: Option<u32>,
    recalled: &'a Recalled,
}

impl<'a> Judge<'a> {
    pub(crate) fn new(partition: u32, partitions: Option<u32>, recalled: &'a Recalled) -> Self {
        Self {
            share: Share::default(),
            campaigns: Campaigns::default(),
            demo: Demo::default(),
            cancelled: Cancelled::default(),
            voids: PerCurrency::default(),
            seals: Seals::default(),
            draws: None,
            partition,
            partitions,
            recalled,
        }
    }

    pub(crate) fn commit(&mut self, player: &mut PlayerState, logged: &Logged, hash: Hash) -> Result<Left, Fault> {
        let Logged { commit, balances_after, due_after, proposer } = logged;
        check_proposer(commit, proposer.as_deref())?;
        self.cancelled.take(commit)?;
        self.placed(commit)?;
        let mut agree = true;
        let left = self.apply(player, commit, |player| {
            let due = due_after.is_empty() || player.due().eq(due_after.iter().copied());
            agree = due && player.balances().eq(balances_after.iter().copied());
            hash
        })?;
        self.seals.count(&commit.events);
        self.seals(commit)?;
        self.demo.take(commit)?;
        if agree {
            return Ok(left);
        }
        let (balances, due): (Vec<_>, Vec<_>) = (player.balances().collect(), player.due().collect());
        Err(match balances == *balances_after {
            true => other_due(&due, due_after),
            false => other_balances(&balances, balances_after),
        })
    }

    fn seals(&mut self, commit: &Commit) -> Result<(), Fault> {
        let Some(keys) = &self.draws else { return Ok(()) };
        for sealed in draws::sealed(&commit.events) {
            if !keys.has(sealed.name.epoch) {
                self.seals.unchecked += 1;
                continue;
            }
            let dealt = keys.dealt(&commit.stream, sealed.name, self.share.generations());
            let expected = dealt.map(|dealt| draw::seal(&dealt));
            if expected != Some(sealed.seal) {
                let what = format!("the seal of draw {} does not match the draw keys", sealed.name.number);
                return Err(Fault::new(what, expected.map_or("none".into(), |seal| hex(&seal)), hex(&sealed.seal)));
            }
            self.seals.checked += 1;
        }
        Ok(())
    }

    fn placed(&self, commit: &Commit) -> Result<(), Fault> {
        match (&commit.stream, self.partitions.map(|partitions| commit.stream.partition(partitions))) {
            (StreamId::Player { .. }, Some(lives)) if commit.version == 1 && lives != self.partition => {
                let what = format!("{} does not belong to this partition", commit.stream);
                Err(Fault::new(what, format!("partition {lives}"), format!("partition {}", self.partition)))
            }
            _ => Ok(()),
        }
    }

    fn apply(
        &mut self,
        player: &mut PlayerState,
        commit: &Commit,
        mut seen: impl FnMut(&PlayerState) -> Hash,
    ) -> Result<Left, Fault> {
        let void = commit.events.iter().find_map(|event| match event {
            Event::RoundVoided { round, refund, win_taken_back, .. } => Some((*round, *refund, *win_taken_back)),
            _ => None,
        });
        let Some((round, refund, win_taken_back)) = void else {
            let left = self.share.apply_recorded(player, commit, None, seen)?;
            return self.campaigns.take(commit, None).map(|()| left);
        };
        let before = player.clone();
        let open = before.open_round(round);
        let of = open.map(|open| (open.started.clone(), open.credited));
        let (left, of) = match self.share.apply_recorded(player, commit, None, &mut seen) {
            Err(Refused::RecallNeeded { .. }) => {
                let settled = self.recalled.round(&commit.stream, round)?;
                *player = before;
                let left = self.share.apply_recorded(player, commit, Some(settled), seen)?;
                (left, Some((settled.started.clone(), settled.win)))
            }
            applied => (applied?, of),
        };
        self.campaigns.take(commit, of.as_ref().map(|(started, _)| &**started))?;
        if let Some((started, win)) = of {
            let voids = self.voids.entry(started.currency);
            voids.rounds += 1;
            voids.refunds += i128::from(refund.0);
            voids.wins_taken_back += i128::from(win_taken_back.0);
            voids.wins_left += i128::from(win.0) - i128::from(win_taken_back.0);
        }
        Ok(left)
    }
}

pub(crate) fn check_proposer(commit: &Commit, proposer: Option<&Proposer>) -> Result<(), Fault> {
    let Some(proposer) = proposer.filter(|proposer| !proposer.roles.is_empty()) else { return Ok(()) };
    let Commit { stream, partition, request_id, events, .. } = commit;
    match events.iter().find(|event| !may_propose(&proposer.roles, stream, *partition, request_id, event)) {
        None => Ok(()),
        Some(event) => {
            let kind: String = format!("{event:?}").chars().take_while(char::is_ascii_alphanumeric).collect();
            let what =
                format!("PL-44: credential {} proposed a commit that its roles do not allow", proposer.credential);
            Err(Fault::new(what, format!("events of {}", proposer.roles), kind))
        }
    }
}

pub(crate) fn other_due(booked: &[(Currency, Minor)], stated: &[(Currency, Minor)]) -> Fault {
    Fault::new("PL-31: the due credits stated in the commit differ from those in the books", cash(booked), cash(stated))
}

pub(crate) fn other_balances(booked: &[(Currency, Minor)], stated: &[(Currency, Minor)]) -> Fault {
    Fault::new("the balances stated in the commit differ from those in the books", cash(booked), cash(stated))
}

pub(crate) fn cash(balances: &[(Currency, Minor)]) -> String {
    let each = balances.iter().map(|(currency, amount)| format!("{} {currency}", amount.to_decimal(*currency)));
    let all = each.collect::<Vec<_>>().join(", ");
    if all.is_empty() { "none".into() } else { all }
}
