//! Records of rounds, written and read without messages in between: what nearly all of a log is.
//!
//! The same bytes and the same commits as by way of the messages of `log/v1`, at a third of the cost. What is written is
//! the plain form: fields in order of number, each once, none that has its default. The reader takes the plain form and
//! nothing else: for anything that it isn't sure of it answers `None`, and the messages decide. So it has no errors of
//! its own.

use super::event;
use crate::log::v1;
use motherlode_books::{
    CoinValue, Commit, Contribution, Currency, Event, FxRate, Minor, Nano, RoundStarted, StepResolved, StreamId,
};
use prost::Message;

/// A record, decoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Logged {
    /// The decision.
    pub commit: Commit,
    /// The player's balances in every currency, as they are after it: what the books must come to as well.
    pub balances_after: Vec<(Currency, Minor)>,
}

/// Wire type of varints.
const VARINT: u8 = 0;
/// Wire type of bytes, texts and messages.
const LENGTH: u8 = 2;

/// Fields of `log.v1.Event`.
const ROUND_STARTED: u8 = 5;
const STEP_RESOLVED: u8 = 6;
const ROUND_SETTLED: u8 = 8;

/// Writes a `log.v1.Commit`.
pub(super) fn write(previous: &[u8; 32], logged: &Logged) -> Vec<u8> {
    let Logged { commit, balances_after } = logged;
    let mut bytes = Vec::with_capacity(512);
    let mut out = Out(&mut bytes);
    out.bytes(1, previous);
    out.varint(2, commit.position);
    out.varint(3, commit.partition.into());
    out.nested(4, |out| stream(out.0, &commit.stream));
    out.varint(5, commit.version);
    out.varint(6, commit.previous);
    out.bytes(7, commit.request_id.as_bytes());
    out.bytes(8, &commit.fingerprint);
    out.varint(9, commit.time_ms.cast_unsigned());
    for event in &commit.events {
        out.nested(10, |out| write_event(out, event));
    }
    for (currency, amount) in balances_after {
        out.nested(11, |out| {
            out.bytes(1, currency.code().as_bytes());
            out.varint(2, amount.0.cast_unsigned());
        });
    }
    bytes
}

fn stream(out: &mut Vec<u8>, stream: &StreamId) {
    match stream {
        StreamId::Player { operator, player } => {
            for part in ["player/", operator, "/", player] {
                out.extend_from_slice(part.as_bytes());
            }
        }
        other => out.extend_from_slice(other.to_string().as_bytes()),
    }
}

fn write_event(out: &mut Out, event: &Event) {
    match event {
        Event::RoundStarted(started) => out.nested(ROUND_STARTED, |out| write_started(out, started)),
        Event::StepResolved(step) => out.nested(STEP_RESOLVED, |out| {
            out.varint(1, step.round);
            out.varint(2, step.step.into());
            out.bytes(3, &step.seed);
            out.bytes(4, &step.choice);
            out.bytes(5, &step.outcome);
            out.varint(6, step.win.0.cast_unsigned());
            if let Some(automatic) = &step.automatic {
                out.bytes(7, &event::automatic_to_wire(automatic).encode_to_vec());
            }
        }),
        Event::RoundSettled { round, win } => out.nested(ROUND_SETTLED, |out| {
            out.varint(1, *round);
            out.varint(2, win.0.cast_unsigned());
        }),
        other => out.0.extend(event::to_log(other).encode_to_vec()),
    }
}

fn write_started(out: &mut Out, started: &RoundStarted) {
    out.varint(1, started.round);
    out.bytes(2, started.game.as_bytes());
    out.bytes(3, started.rules_version.as_bytes());
    out.bytes(4, &started.model_hash);
    out.bytes(5, started.currency.code().as_bytes());
    out.varint(6, started.bet.0.cast_unsigned());
    out.varint(7, started.coin_value.0);
    out.bytes(8, &started.stake);
    out.nested(9, |out| {
        let exponent = i32::from(started.rate.exponent());
        out.varint(1, started.rate.mantissa());
        out.varint(2, ((exponent << 1) ^ (exponent >> 31)).cast_unsigned().into());
    });
    if let Some(contribution) = &started.contribution {
        out.nested(10, |out| {
            out.bytes(1, contribution.pool.as_bytes());
            out.varint(2, contribution.terms_version.into());
            out.bytes(3, &contribution.amount.0.to_be_bytes());
        });
    }
    out.bytes(11, started.session.as_ref().map_or(&[], |session| session.as_slice()));
    out.bytes(12, started.jurisdiction.as_bytes());
    out.bytes(13, started.campaign.as_deref().unwrap_or_default().as_bytes());
}

/// Reads a `log.v1.Commit` in the plain form; `None` for anything else.
pub(super) fn read(bytes: &[u8]) -> Option<Logged> {
    let mut fields = In(bytes);
    fields.bytes(1)?;
    let mut commit = Commit {
        position: fields.varint(2)?,
        partition: fields.varint(3)?.try_into().ok()?,
        stream: fields.text(4)?.parse().ok()?,
        version: fields.varint(5)?,
        previous: fields.varint(6)?,
        request_id: fields.text(7)?.to_owned(),
        fingerprint: fields.bytes(8)?.try_into().ok()?,
        time_ms: fields.varint(9)?.cast_signed(),
        events: Vec::with_capacity(4),
    };
    while let Some(event) = fields.next(10, LENGTH)? {
        commit.events.push(read_event(event.bytes)?);
    }
    let mut balances_after = Vec::with_capacity(1);
    while let Some(balance) = fields.next(11, LENGTH)? {
        let mut fields = In(balance.bytes);
        balances_after.push((fields.currency(1)?, Minor(fields.varint(2)?.cast_signed())));
        fields.end()?;
    }
    fields.end()?;
    Some(Logged { commit, balances_after })
}

fn read_event(bytes: &[u8]) -> Option<Event> {
    let mut fields = In(bytes);
    let event = if let Some(started) = fields.next(ROUND_STARTED, LENGTH)? {
        Event::RoundStarted(read_started(In(started.bytes))?)
    } else if let Some(step) = fields.next(STEP_RESOLVED, LENGTH)? {
        let mut fields = In(step.bytes);
        let step = StepResolved {
            round: fields.varint(1)?,
            step: fields.varint(2)?.try_into().ok()?,
            seed: fields.bytes(3)?.try_into().ok()?,
            choice: fields.bytes(4)?.to_owned(),
            outcome: fields.bytes(5)?.to_owned(),
            win: Minor(fields.varint(6)?.cast_signed()),
            // An automatic step is rare: its messages decide.
            automatic: None,
        };
        fields.end()?;
        Event::StepResolved(step)
    } else if let Some(settled) = fields.next(ROUND_SETTLED, LENGTH)? {
        let mut fields = In(settled.bytes);
        let event = Event::RoundSettled { round: fields.varint(1)?, win: Minor(fields.varint(2)?.cast_signed()) };
        fields.end()?;
        event
    } else {
        return event::from_log(v1::Event::decode(bytes).ok()?).ok();
    };
    fields.end()?;
    Some(event)
}

fn read_started(mut fields: In) -> Option<RoundStarted> {
    let started = RoundStarted {
        round: fields.varint(1)?,
        game: fields.text(2)?.to_owned(),
        rules_version: fields.text(3)?.to_owned(),
        model_hash: fields.bytes(4)?.try_into().ok()?,
        currency: fields.currency(5)?,
        bet: Minor(fields.varint(6)?.cast_signed()),
        coin_value: CoinValue(fields.varint(7)?),
        stake: fields.bytes(8)?.to_owned(),
        rate: read_rate(In(fields.next(9, LENGTH)??.bytes))?,
        contribution: match fields.next(10, LENGTH)? {
            Some(contribution) => Some(read_contribution(In(contribution.bytes))?),
            None => None,
        },
        session: match fields.bytes(11)? {
            [] => None,
            session => Some(session.try_into().ok()?),
        },
        jurisdiction: fields.text(12)?.to_owned(),
        campaign: Some(fields.text(13)?).filter(|campaign| !campaign.is_empty()).map(str::to_owned),
    };
    fields.end()?;
    Some(started)
}

fn read_rate(mut fields: In) -> Option<FxRate> {
    let mantissa = fields.varint(1)?;
    let zigzag = u32::try_from(fields.varint(2)?).ok()?;
    fields.end()?;
    let exponent = (zigzag >> 1).cast_signed() ^ -(zigzag & 1).cast_signed();
    FxRate::new(mantissa, exponent.try_into().ok()?).ok()
}

fn read_contribution(mut fields: In) -> Option<Contribution> {
    let contribution = Contribution {
        pool: fields.text(1)?.to_owned(),
        terms_version: fields.varint(2)?.try_into().ok()?,
        amount: Nano(i128::from_be_bytes(fields.bytes(3)?.try_into().ok()?)),
    };
    fields.end()?;
    Some(contribution)
}

/// A message in the making. Field numbers are below 16: their keys are one byte.
pub(super) struct Out<'a>(pub(super) &'a mut Vec<u8>);

impl Out<'_> {
    pub(super) fn varint(&mut self, number: u8, value: u64) {
        if value != 0 {
            self.one_of(number, value);
        }
    }

    /// A varint of a oneof: there even when it's 0.
    pub(super) fn one_of(&mut self, number: u8, value: u64) {
        self.0.push((number << 3) | VARINT);
        self.packed(value);
    }

    /// A varint within a packed field.
    pub(super) fn packed(&mut self, value: u64) {
        prost::encoding::encode_varint(value, self.0);
    }

    pub(super) fn bytes(&mut self, number: u8, value: &[u8]) {
        if !value.is_empty() {
            self.0.push((number << 3) | LENGTH);
            self.packed(value.len() as u64);
            self.0.extend_from_slice(value);
        }
    }

    /// A message, there even when it's empty. Its length is known when it's written: room is made for it then.
    pub(super) fn nested(&mut self, number: u8, write: impl FnOnce(&mut Out)) {
        self.0.push((number << 3) | LENGTH);
        let start = self.0.len();
        self.0.push(0);
        write(self);
        let length = self.0.len() - start - 1;
        if let Some(short) = u8::try_from(length).ok().filter(|short| *short < 0x80) {
            self.0[start] = short;
        } else {
            let mut prefix = [0; 10];
            let mut unused = &mut prefix[..];
            prost::encoding::encode_varint(length as u64, &mut unused);
            let used = 10 - unused.len();
            self.0.splice(start..=start, prefix.into_iter().take(used));
        }
    }
}

/// The fields of a message that are yet to be read. `None` means that they are not in the plain form.
struct In<'a>(&'a [u8]);

/// One field's value: a varint, or bytes.
struct Value<'a> {
    varint: u64,
    bytes: &'a [u8],
}

impl<'a> In<'a> {
    /// The next field, if it has this number and wire type.
    fn next(&mut self, number: u8, wire_type: u8) -> Option<Option<Value<'a>>> {
        let Some((_, mut rest)) = self.0.split_first().filter(|(key, _)| **key == (number << 3) | wire_type) else {
            return Some(None);
        };
        let varint = read_varint(&mut rest)?;
        let length = if wire_type == LENGTH { usize::try_from(varint).ok()? } else { 0 };
        let (bytes, rest) = rest.split_at_checked(length)?;
        self.0 = rest;
        Some(Some(Value { varint, bytes }))
    }

    fn varint(&mut self, number: u8) -> Option<u64> {
        Some(self.next(number, VARINT)?.map_or(0, |value| value.varint))
    }

    fn bytes(&mut self, number: u8) -> Option<&'a [u8]> {
        Some(self.next(number, LENGTH)?.map_or(&[], |value| value.bytes))
    }

    fn text(&mut self, number: u8) -> Option<&'a str> {
        std::str::from_utf8(self.bytes(number)?).ok()
    }

    fn currency(&mut self, number: u8) -> Option<Currency> {
        self.text(number)?.parse().ok()
    }

    fn end(self) -> Option<()> {
        self.0.is_empty().then_some(())
    }
}

/// A varint of at most 64 bits.
fn read_varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..63).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7F) << shift;
        if *byte < 0x80 {
            return Some(value);
        }
    }
    let (byte, rest) = bytes.split_first()?;
    *bytes = rest;
    (*byte <= 1).then(|| value | (u64::from(*byte) << 63))
}
