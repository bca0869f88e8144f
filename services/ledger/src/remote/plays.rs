use crate::{
    append::{AppendError, Proposal},
    generations::EpochNames,
    handle::Handle,
};
use motherlode_rounds::check::{Before, Mismatch, check as check_steps};
use motherlode_runtime::Reason;
use motherlode_state::{DrawName, DrawSealed, Epoch, Event, Generations, PlayerState, Seal, SealReason, StreamId};
use std::sync::Arc;

/// If operators are configured, every seal must be made with one of this process's two newest draw keys. If none are
/// configured, seals made with other keys are accepted unverified.
pub(super) fn check(ledger: &Handle, proposal: &Proposal, has_operators: bool) -> Result<(), AppendError> {
    let Proposal { stream, expected_version, request_id, events, .. } = proposal;
    if let Some(key) = events.iter().find_map(|event| named_key(event).filter(|key| !ledger.draws().knows(*key))) {
        // If the log named an unknown key, the next start would fail.
        let reason = format!(
            "the ledger process has no draw key {}: give all processes the same key file",
            EpochNames(vec![key])
        );
        return Err(AppendError::not_allowed(Reason::DrawKeyUnknown, reason));
    }
    if !matches!(stream, StreamId::Player { .. }) || !events.iter().any(is_play) {
        return Ok(());
    }
    if events.iter().any(|event| matches!(event, Event::RoundVoided { .. })) {
        return Ok(());
    }
    let Some(expected) = *expected_version else {
        let reason = "a proposal with a draw or a step must state the stream's expected version";
        return Err(AppendError::not_allowed(Reason::VersionMissing, reason));
    };
    let (version, player, generations) = ledger.books_of(stream, |books| {
        (books.head(stream).version, books.player(stream).cloned(), Arc::clone(books.generations()))
    })?;
    if version != expected {
        return Err(AppendError::Conflict { version });
    }
    let player = player.unwrap_or_default();
    for event in events {
        check_seal((ledger, &generations, has_operators), stream, &player, event)?;
    }
    let dealt_of = |name| ledger.draws().dealt(stream, name, &generations);
    let before = Before { stream, player: &player, request_id, dealt_of: &dealt_of };
    let checked = match check_steps(&before, events) {
        Err(Mismatch::KeyLost { .. }) if !has_operators => Ok(()),
        checked => checked,
    };
    checked.map_err(|mismatch| {
        let code = match &mismatch {
            Mismatch::Unsealed { .. } => Reason::StepUnsealed,
            Mismatch::KeyLost { .. } => Reason::DrawKeyLost,
            Mismatch::Differs(_) => Reason::OutcomeDiffers,
        };
        AppendError::not_allowed(code, mismatch.to_string())
    })
}

fn named_key(event: &Event) -> Option<Epoch> {
    match event {
        Event::GeneratorReseeded { key } => *key,
        _ => None,
    }
}

fn is_play(event: &Event) -> bool {
    matches!(
        event,
        Event::DrawSealed(_)
            | Event::CollectionChanged { .. }
            | Event::RoundStarted(_)
            | Event::StepResolved(_)
            | Event::JackpotHit { .. }
            | Event::DrawsRevealed { .. }
            | Event::WinCredited { .. }
            | Event::RoundSettled { .. }
    )
}

fn check_seal(
    (ledger, generations, has_operators): (&Handle, &Generations, bool),
    stream: &StreamId,
    player: &PlayerState,
    event: &Event,
) -> Result<(), AppendError> {
    let draws = ledger.draws();
    let check = |name: DrawName, seal: Seal| match draws.expected_seal(stream, name, generations) {
        Some(expected) if expected == seal => Ok(()),
        Some(_) => {
            let reason = format!("the seal of draw {} of {stream} does not match the draw keys", name.number);
            Err(AppendError::not_allowed(Reason::SealForged, reason))
        }
        None if !has_operators => Ok(()),
        None => {
            let reason = format!(
                "draw {} of {stream} is not sealed with one of the ledger process's two newest keys",
                name.number
            );
            Err(AppendError::not_allowed(Reason::SealForged, reason))
        }
    };
    match event {
        Event::StepResolved(step) => match &step.draw {
            Some(draw) => check(draw.next_name(), draw.next_seal),
            None => {
                let reason =
                    format!("step {} of round {} states its seed instead of a sealed draw", step.step, step.round);
                Err(AppendError::not_allowed(Reason::StepUnsealed, reason))
            }
        },
        &Event::DrawSealed(DrawSealed { number, epoch, generation, seal, reason }) => {
            let present = player.draw.filter(|next| draws.dealt_under(stream, next, generations).is_some());
            match present {
                Some(next) if has_operators && reason == SealReason::KeyLost => {
                    let reason = format!(
                        "draw {} of {stream} must not be sealed again, because its key is not lost",
                        next.number
                    );
                    Err(AppendError::not_allowed(Reason::DrawKeyPresent, reason))
                }
                _ => check(DrawName { number, epoch, generation }, seal),
            }
        }
        _ => Ok(()),
    }
}
