//! Compares proposed events that refer to another partition with that partition's log (PL-44).

use crate::{
    append::{AppendError, Proposal},
    handle::Handle,
};
use motherlode_runtime::Reason;
use motherlode_state::{Event, HOME, InternalRequest, PartitionReported, PoolMirrored, StreamId, StretchEnd};

/// Fails with [`AppendError::Conflict`] if the needed records of the other partition have not reached this process.
pub(super) fn check(
    ledger: &Handle,
    proposal: &Proposal,
    (all, partitions): (&[Handle], u32),
) -> Result<(), AppendError> {
    if ledger.partition() != HOME
        && let Some(position) = InternalRequest::copied_position(&proposal.request_id)
    {
        return check_copy(ledger, proposal, loaded(all, HOME), position);
    }
    for event in &proposal.events {
        match (event, &proposal.stream) {
            (Event::PoolMirrored(mirrored), StreamId::Pool(pool)) => {
                check_version(ledger, proposal)?;
                check_mirror(ledger, pool, mirrored, loaded(all, HOME))?;
            }
            (Event::PartitionReported(report), StreamId::Pool(pool)) => {
                check_version(ledger, proposal)?;
                match loaded(all, report.partition) {
                    Some(reporting) => check_report(ledger, pool, report, reporting)?,
                    // This process has not loaded the reporting partition, so it accepts the report unchecked.
                    None if report.partition < partitions => {}
                    None => {
                        let reason = format!("there is no partition {}", report.partition);
                        return Err(AppendError::not_allowed(Reason::ReportDiffers, reason));
                    }
                }
            }
            _ => {}
        }
    }
    Ok(())
}

fn loaded(all: &[Handle], partition: u32) -> Option<&Handle> {
    all.iter().find(|ledger| ledger.partition() == partition)
}

fn behind(ledger: &Handle, stream: &StreamId) -> AppendError {
    let version = ledger.books_of(stream, |books| books.head(stream).version).unwrap_or_default();
    AppendError::Conflict { version }
}

fn check_copy(ledger: &Handle, proposal: &Proposal, home: Option<&Handle>, position: u64) -> Result<(), AppendError> {
    let differs = || {
        let reason = format!(
            "the proposed copy of events does not match the events at position {position} of partition {HOME} on stream {}",
            proposal.stream
        );
        AppendError::not_allowed(Reason::CopyDiffers, reason)
    };
    let Some(home) = home.filter(|home| position <= home.durable()) else {
        return Err(behind(ledger, &proposal.stream));
    };
    if position == 0 {
        return Err(differs());
    }
    let original = home.fetch(position)?;
    let copied = original.commit.events.iter().filter(|event| is_copied(event));
    let same = original.commit.stream == proposal.stream && copied.eq(&proposal.events);
    if same { Ok(()) } else { Err(differs()) }
}

#[must_use]
pub fn is_copied(event: &Event) -> bool {
    matches!(event, Event::RateSet { .. } | Event::SwitchSet { .. })
}

fn check_mirror(
    ledger: &Handle,
    pool: &str,
    mirrored: &PoolMirrored,
    home: Option<&Handle>,
) -> Result<(), AppendError> {
    let Some(home) = home else { return Err(behind(ledger, &StreamId::pool(pool))) };
    let (at, expected) = home.books(|books| {
        let at = books.pool(pool).map_or(0, |pool| pool.head.position);
        (at, ledger.books(|own| books.mirror_as_of_now(pool, ledger.partition(), own)))
    });
    match expected {
        Some(expected) if expected == *mirrored => Ok(()),
        _ if at != mirrored.home_position => Err(behind(ledger, &StreamId::pool(pool))),
        _ => {
            let reason = format!(
                "the proposed copy of pool {pool} does not match the pool at position {at} of partition {HOME}"
            );
            Err(AppendError::not_allowed(Reason::MirrorDiffers, reason))
        }
    }
}

fn check_report(home: &Handle, pool: &str, report: &PartitionReported, reporting: &Handle) -> Result<(), AppendError> {
    if report.to > reporting.durable() {
        return Err(behind(home, &StreamId::pool(pool)));
    }
    let expected = home
        .books(|books| reporting.books(|there| books.partition_report_to(pool, report.partition, there, report.to)));
    // The number of open rounds is not compared: the proposer computed it from its own copy of the pool, which can be
    // older than this process's copy.
    let same_end = |expected: &StretchEnd| match (&report.end, expected) {
        (StretchEnd::Standing { mirrored: then, .. }, StretchEnd::Standing { mirrored: now, .. }) => then <= now,
        (decision, expected) => decision == expected,
    };
    let is_same = expected.is_some_and(|expected| {
        same_end(&expected.end) && PartitionReported { end: report.end.clone(), ..expected } == *report
    });
    if is_same {
        return Ok(());
    }
    let reason = format!(
        "the proposed report for pool {pool} does not match the log of the reporting partition {} up to position {}",
        report.partition, report.to
    );
    Err(AppendError::not_allowed(Reason::ReportDiffers, reason))
}

fn check_version(ledger: &Handle, proposal: &Proposal) -> Result<(), AppendError> {
    let Some(expected) = proposal.expected_version else {
        let reason = "a proposal on a pool's stream must state the stream's expected version";
        return Err(AppendError::not_allowed(Reason::VersionMissing, reason));
    };
    let version = ledger.books_of(&proposal.stream, |books| books.head(&proposal.stream).version)?;
    if version == expected { Ok(()) } else { Err(AppendError::Conflict { version }) }
}
