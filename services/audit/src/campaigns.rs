//! Counts the use of campaigns (PL-18) independently of the books, and compares the counts with the books at the end.

use crate::divergence::Fault;
use motherlode_state::{Account, Books, Campaign, Commit, Currency, Event, RoundStarted, StreamId};
use std::collections::BTreeMap;

#[derive(Default)]
pub(crate) struct Campaigns {
    granted: BTreeMap<(StreamId, String), CampaignUse>,
    paid: BTreeMap<(String, Currency), i128>,
}

struct CampaignUse {
    terms: Campaign,
    begun: u64,
    given_back: u64,
    cancelled: bool,
}

impl Campaigns {
    pub(crate) fn take(&mut self, commit: &Commit, voided: Option<&RoundStarted>) -> Result<(), Fault> {
        for event in &commit.events {
            match event {
                Event::CampaignGranted(terms) => {
                    let counted = CampaignUse { terms: terms.clone(), begun: 0, given_back: 0, cancelled: false };
                    if self.granted.insert((commit.stream.clone(), terms.id.to_string()), counted).is_some() {
                        return Err(Fault::new("PL-18: the log grants a campaign twice", "one grant", &terms.id));
                    }
                }
                Event::CampaignCancelled { campaign, .. } => {
                    let counted = self.granted(commit, campaign)?;
                    counted.cancelled = true;
                    if counted.begun > 0 {
                        return Err(Fault::new(
                            "PL-18: the log cancels a campaign after its first round",
                            "the cancellation must precede the first round",
                            campaign,
                        ));
                    }
                }
                Event::RoundStarted(started) => self.begin(commit, started)?,
                _ => {}
            }
        }
        match voided {
            Some(voided) => self.give_back(commit, voided),
            None => Ok(()),
        }
    }

    pub(crate) fn join(&mut self, others: Self) {
        self.granted.extend(others.granted);
        for (of, paid) in others.paid {
            *self.paid.entry(of).or_default() += paid;
        }
    }

    fn granted(&mut self, commit: &Commit, campaign: &str) -> Result<&mut CampaignUse, Fault> {
        let counted = self.granted.get_mut(&(commit.stream.clone(), campaign.to_owned()));
        counted.ok_or_else(|| {
            Fault::new(
                "PL-18: the record uses a campaign that was never granted",
                "the log must grant a campaign before its first use",
                campaign,
            )
        })
    }

    fn begin(&mut self, commit: &Commit, started: &RoundStarted) -> Result<(), Fault> {
        let Some(campaign) = &started.campaign else { return Ok(()) };
        let counted = self.granted(commit, campaign)?;
        counted.begun += 1;
        let terms = &counted.terms;
        let left = u64::from(terms.rounds) + counted.given_back;
        if counted.begun > left || counted.cancelled || commit.time_ms >= terms.expires_ms {
            let expected = format!(
                "at most {left} rounds, all started before Unix time {} ms and before any cancellation",
                terms.expires_ms
            );
            let found = format!("round {} of the campaign started at Unix time {} ms", counted.begun, commit.time_ms);
            return Err(Fault::new(
                format!("PL-18: the grant of campaign {campaign} does not permit this free round"),
                expected,
                found,
            ));
        }
        let played = started.stake.terms().cloned().unwrap_or_default();
        let granted = (&terms.game, terms.bet, terms.coin_value, terms.lines, terms.coins_per_line, false, false);
        let found = (
            &started.game,
            started.bet,
            started.coin_value,
            played.lines,
            played.coins_per_line,
            played.buy_feature,
            played.jackpot || started.contribution.is_some(),
        );
        if granted != found {
            let what = "PL-18: the stake of a free round differs from its campaign's stake, or the round has a jackpot \
                 contribution";
            return Err(Fault::new(what, format!("{granted:?}"), format!("{found:?}")));
        }
        self.pay(commit, started, started.bet.0.into());
        Ok(())
    }

    fn give_back(&mut self, commit: &Commit, voided: &RoundStarted) -> Result<(), Fault> {
        let Some(campaign) = &voided.campaign else { return Ok(()) };
        self.granted(commit, campaign)?.given_back += 1;
        self.pay(commit, voided, -i128::from(voided.bet.0));
        Ok(())
    }

    fn pay(&mut self, commit: &Commit, started: &RoundStarted, amount: i128) {
        if let StreamId::Player { operator, .. } = &commit.stream {
            *self.paid.entry((operator.to_string(), started.currency)).or_default() += amount;
        }
    }

    pub(crate) fn agree(&self, books: &Books) -> Result<(), Fault> {
        for ((stream, id), counted) in &self.granted {
            let state = books.player(stream).and_then(|player| player.campaign(id));
            let booked = state.map(|state| (state.begun, state.given_back, state.cancelled));
            let counted = (counted.begun, counted.given_back, counted.cancelled);
            if booked != Some(counted) {
                let what = format!(
                    "PL-18: the state of campaign {id} of {stream} does not match the logged rounds, returned rounds \
                     and cancellation of the campaign"
                );
                return Err(Fault::new(what, format!("{counted:?}"), format!("{booked:?}")));
            }
        }
        for ((operator, currency), paid) in &self.paid {
            let booked = books.holding(Account::Promotion(operator), *currency).0;
            let paid = -paid * currency.nanos_per_minor();
            if booked != paid {
                let what = format!(
                    "PL-18: the promotion account's payments differ from the price of {operator}'s free rounds in {currency}"
                );
                return Err(Fault::new(what, paid, booked));
            }
        }
        Ok(())
    }
}
