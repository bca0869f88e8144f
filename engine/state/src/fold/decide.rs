use super::delta::Delta;
use super::price::TakenBack;
use super::transition::Transition;
use super::view::View;
use crate::events::{Commit, Event, Refused, SettledRound};

use crate::values::{Account, End, HOME, Head, Nano, Posting, StreamId};

pub(super) fn decide<'s>(
    view: View<'s>,
    commit: &'s Commit,
    recalled: Option<&'s SettledRound>,
    delta: &mut Delta,
) -> Result<Vec<Posting<'s>>, Refused> {
    delta.copy(view, &commit.stream);
    decide_on(view, commit, recalled, delta)
}

pub(super) fn decide_on<'s>(
    view: View<'s>,
    commit: &'s Commit,
    recalled: Option<&'s SettledRound>,
    delta: &mut Delta,
) -> Result<Vec<Posting<'s>>, Refused> {
    place(view, commit, delta)?;
    let mut transition = Transition::new(view, commit, recalled, delta);
    for event in &commit.events {
        transition.event(event)?;
    }
    if transition.delta.player.as_ref().is_some_and(|player| player.wallet.is_some())
        && let StreamId::Player { operator, player } = &commit.stream
    {
        transition.make_due(operator, Account::Player { operator, player })?;
    }
    if transition.approved.is_some() || transition.approved_void.is_some() {
        return Err(Refused::NotAsProposed);
    }
    if let Some(due) = &transition.reveal {
        return Err(Refused::RevealMissing { round: due.round });
    }
    sum_to_zero(&transition.postings)?;
    Ok(transition.postings)
}

fn place(view: View<'_>, commit: &Commit, delta: &mut Delta) -> Result<(), Refused> {
    let end = view.end(commit.partition);
    let expected = end.position + 1;
    if commit.position != expected {
        return Err(Refused::WrongPosition { expected, found: commit.position });
    }
    delta.end = End { position: commit.position, time_ms: commit.time_ms };
    let head = delta.head_mut().map_or_else(Head::default, |head| std::mem::replace(head, commit.head()));
    if commit.version != head.version + 1 {
        return Err(Refused::WrongVersion { expected: head.version + 1, found: commit.version });
    }
    if head.version > 0 && commit.partition != head.partition {
        return Err(Refused::WrongPartition { expected: head.partition, found: commit.partition });
    }
    if commit.previous != head.position {
        return Err(Refused::WrongPrevious { expected: head.position, found: commit.previous });
    }
    if commit.time_ms < end.time_ms {
        return Err(Refused::TimeRanBack { latest: end.time_ms, found: commit.time_ms });
    }
    if commit.events.is_empty() {
        return Err(Refused::Empty);
    }
    if head.version == 0 && !commit.stream.is_valid() {
        return Err(Refused::BadStream);
    }
    Ok(())
}

impl<'s> Transition<'s, '_> {
    fn event(&mut self, event: &'s Event) -> Result<(), Refused> {
        if self.approved.take().is_some_and(|approved| *approved != event.as_proposed()) {
            return Err(Refused::NotAsProposed);
        }
        if let Some(approved) = self.approved_void.take() {
            self.void_approved = matches!(event, Event::RoundVoided { round, .. } if *round == approved);
            if !self.void_approved {
                return Err(Refused::NotAsProposed);
            }
        }
        match (event, &self.commit.stream) {
            (Event::ChangeApproved { change, proposed_by, actor }, StreamId::Player { .. }) => {
                self.approve_void(*change, proposed_by, actor)
            }
            (Event::ChangeApproved { change, proposed_by, actor }, _) => self.approve(*change, proposed_by, actor),
            (Event::ActedBy { .. }, _) => Ok(()),
            (Event::PartOf { .. }, StreamId::Player { .. } | StreamId::System) => Ok(()),
            (_, StreamId::Player { operator, player }) => {
                self.player_event(Account::Player { operator, player }, operator, event)
            }
            (_, StreamId::Pool(name)) => self.pool_event(name, event),
            (_, StreamId::Rates) => self.rates_event(event),
            (_, StreamId::System) => self.system_event(event),
        }
    }

    fn player_event(&mut self, account: Account<'s>, operator: &'s str, event: &'s Event) -> Result<(), Refused> {
        if let Some(due) = self.reveal.take() {
            return due.reveal(event);
        }
        let house = Account::House(operator);
        match event {
            Event::AccountOpened { currency } => self.open_account(*currency),
            Event::Deposited { currency, amount } => {
                self.deposit(Account::External(operator), account, *currency, *amount)
            }
            Event::Withdrawn { currency, amount } => {
                self.withdraw(account, Account::External(operator), *currency, *amount)
            }
            Event::PlayMoneyGiven { amount } => self.give_play_money(Account::External(operator), account, *amount),
            Event::CollectionChanged { game, scope, changes } => self.change_collection(game, scope, changes),
            Event::RoundStarted(started) => self.start_round(account, operator, started),
            Event::StepResolved(step) => self.resolve_step(step),
            Event::DrawSealed(sealed) => self.seal_draw(sealed),
            Event::DrawsRevealed { round, .. } | Event::DrawsLost { round } => {
                Err(Refused::RevealUnfounded { round: *round })
            }
            Event::JackpotHit { round, pool } => self.hit(*round, pool),
            Event::WinCredited { round, amount } => self.credit(account, house, *round, *amount),
            Event::RoundSettled { round, win } => self.settle(account, house, *round, *win),
            Event::RoundVoided { .. } => self.void(account, operator, event),
            Event::VoidProposed { round, reason, actor } => self.propose_void(*round, reason, actor),
            Event::ChangeRejected { change, .. } => self.reject_void(*change),
            Event::SessionOpened(opened) => self.open_session(opened),
            Event::SessionEnded { session, hold_ms } => self.end_session(*session, *hold_ms),
            Event::RealityCheckAcknowledged { session } => self.acknowledge(*session),
            Event::CampaignGranted(campaign) => self.grant(campaign),
            Event::CampaignCancelled { campaign, .. } => self.cancel(campaign),
            Event::RequestCancelled => self.check_no_debit().and_then(|()| self.cancel_request()),
            Event::JackpotPaid { round, pool, hit, amount, currency } => {
                self.pay_jackpot(account, *round, pool, *hit, *amount, *currency)
            }
            Event::AwardSetAside { round, pool, hit, amount, currency, .. } => {
                self.set_aside(*round, pool, *hit, *amount, *currency)
            }
            event => self.wallet_event(account, operator, event),
        }
    }

    fn wallet_event(&mut self, account: Account<'s>, operator: &'s str, event: &'s Event) -> Result<(), Refused> {
        match event {
            Event::SeamlessChosen => self.choose_seamless(),
            Event::DebitAsked(asked) => self.ask_debit(asked),
            Event::DebitConfirmed { amount, reported_balance, answer } => {
                self.confirm_debit(operator, account, *amount, (*reported_balance, answer.as_deref()))
            }
            Event::DebitRefused { .. } => self.refuse_debit(),
            Event::RollbackAsked { request_id, .. } => self.ask_rollback(request_id),
            Event::DebitRolledBack => self.roll_back_debit(),
            Event::CreditPaid { request_id, currency, amount, reported_balance, answer } => {
                let reported = (*reported_balance, answer.as_deref());
                self.pay_credit(operator, (request_id, *currency), *amount, reported)
            }
            Event::ReversalDue { round, amount } => self.owe_reversal(*round, *amount),
            Event::ReversalTaken { request_id, round, currency, amount, reported_balance, answer } => {
                let reported = (*reported_balance, answer.as_deref());
                self.take_reversal((operator, account), (request_id, *round), (*currency, *amount), reported)
            }
            Event::CloseReported { request_id, currency, round, skipped } => {
                self.report_close(request_id, *currency, *round, *skipped)
            }
            Event::WalletCallHeld { request_id, currency, close, .. } => {
                self.hold_due(request_id, *currency, *close, true)
            }
            Event::WalletCallReleased { request_id, currency, close } => {
                self.hold_due(request_id, *currency, *close, false)
            }
            Event::RoundReportsChosen { rounds } => self.choose_reports(*rounds),
            Event::OperatorSession { session } => self.note_session(session),
            _ => Err(Refused::WrongStream),
        }
    }

    fn pool_event(&mut self, name: &'s str, event: &'s Event) -> Result<(), Refused> {
        if (self.commit.partition == HOME) == matches!(event, Event::PoolMirrored(_)) {
            return Err(Refused::DecidedAtHome);
        }
        match event {
            Event::PartitionReported(report) => self.report(name, report),
            Event::PoolMirrored(mirrored) => self.mirror(name, mirrored),
            Event::PoolOpened { pool, terms } => self.open_pool(name, pool, terms),
            Event::ContributionsPooled { partition, from, to, amount } => {
                self.take_up(name, *partition, *from, *to, *amount)
            }
            Event::ContributionTakenBack { partition, position, amount, from_increments, from_reserve, from_house } => {
                let split = TakenBack {
                    from_increments: *from_increments,
                    from_reserve: *from_reserve,
                    from_house: *from_house,
                };
                self.take_back(name, *partition, *position, *amount, split)
            }
            Event::ContributionsReturned {
                incident,
                partition,
                voids,
                amount,
                from_increments,
                from_reserve,
                from_house,
            } => {
                let (from_increments, from_reserve, from_house) = (*from_increments, *from_reserve, *from_house);
                let split = TakenBack { from_increments, from_reserve, from_house };
                self.return_contributions(name, (incident, *partition, *voids), *amount, split)
            }
            Event::AwardReversed { partition, position, amount, to_house, operator } => {
                self.reverse(name, (*partition, *position, operator), *amount, *to_house)
            }
            Event::IncidentDeclared(incident) => self.declare(name, incident),
            Event::HitsReleased { .. } => self.release_hits(name),
            Event::JackpotAwarded(award) => self.award(name, award),
            Event::PoolTermsChanged { terms } => self.change_terms(name, terms),
            Event::PoolSuspended { .. } => self.suspend(name),
            Event::PoolResumed { .. } => self.resume(name),
            Event::PoolRetired { into, increments, reserve, .. } => self.retire(name, into, *increments, *reserve),
            Event::PoolReceived { from, increments, reserve } => self.receive(name, from, *increments, *reserve),
            _ => Err(Refused::WrongStream),
        }
    }
}

fn sum_to_zero(postings: &[Posting<'_>]) -> Result<(), Refused> {
    for &Posting { currency, .. } in postings {
        let amounts = postings.iter().filter(|posting| posting.currency == currency);
        let by = Nano(amounts.map(|posting| posting.amount.0).sum());
        if by != Nano::ZERO {
            return Err(Refused::Unbalanced { currency, by });
        }
    }
    Ok(())
}
