use motherlode_log::{Damage, Position, ScanError};
use motherlode_state::{Award, NotCanonical, Refused};
use std::{
    fmt, io,
    path::{Path, PathBuf},
};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Divergence {
    pub partition: u32,
    /// Position of the faulty record, or of the record expected in place of damaged bytes.
    pub position: Position,
    pub file: Option<PathBuf>,
    pub offset: Option<u64>,
    pub what: String,
    pub expected: String,
    pub found: String,
}

impl fmt::Display for Divergence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { partition, position, what, expected, found, .. } = self;
        writeln!(f, "partition {partition}, position {position}: {what}")?;
        if let (Some(file), Some(offset)) = (&self.file, self.offset) {
            writeln!(f, "  file      {} at byte {offset}", file.display())?;
        }
        writeln!(f, "  expected  {expected}")?;
        write!(f, "  found     {found}")
    }
}

impl Divergence {
    pub(crate) fn of_damage(partition: u32, damage: Damage) -> Box<Self> {
        Box::new(Self {
            partition,
            position: damage.position,
            file: Some(damage.file),
            offset: Some(damage.offset),
            what: "the log is damaged".into(),
            expected: "an undamaged record".into(),
            found: damage.reason,
        })
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    what: String,
    expected: String,
    found: String,
}

impl Fault {
    pub(crate) fn new(what: impl Into<String>, expected: impl fmt::Display, found: impl fmt::Display) -> Self {
        Self { what: what.into(), expected: expected.to_string(), found: found.to_string() }
    }

    pub(crate) fn at(self, partition: u32, position: Position) -> Box<Divergence> {
        let Self { what, expected, found } = self;
        Box::new(Divergence { partition, position, file: None, offset: None, what, expected, found })
    }
}

impl From<NotCanonical> for Fault {
    fn from(reason: NotCanonical) -> Self {
        Self::new("the state's digest cannot be computed", "a digest", reason)
    }
}

impl From<Refused> for Fault {
    fn from(refused: Refused) -> Self {
        let what = format!("the auditor's books refuse the commit: {refused}");
        match refused {
            Refused::WrongPosition { expected, found }
            | Refused::WrongVersion { expected, found }
            | Refused::WrongPrevious { expected, found }
            | Refused::WrongRound { expected, found }
            | Refused::WrongStretch { expected, found } => Self::new(what, expected, found),
            Refused::WrongAmount { expected, found } => Self::new(what, expected, found),
            Refused::WrongFigure { expected, found } | Refused::ContributionWrong { expected, found } => {
                Self::new(what, format!("{expected} EUR"), format!("{found} EUR"))
            }
            Refused::AwardWrong { expected, found } => Self::new(what, price(&expected), price(&found)),
            _ => Self::new(what, "a commit that the books accept", "a refused commit"),
        }
    }
}

fn price(award: &Award) -> String {
    let Award { stream, round, cycle, collision, amount, currency, increments, to_reserve, paid, .. } = award;
    format!(
        "award of {} {currency} for round {round} of {stream}; pool cycle {cycle}; second hit before the jackpot \
         display was refreshed: {collision}; in EUR: paid {paid}, increments {increments}, seed from reserve {}, seed \
         from house {}, added to reserve {to_reserve}",
        amount.to_decimal(*currency),
        award.seed_from_reserve,
        award.seed_from_house,
    )
}

#[derive(Debug, thiserror::Error)]
pub enum Unusable {
    #[error("{}: no such folder", .0.display())]
    NoFolder(PathBuf),
    #[error("{}: no log there", .0.display())]
    NoLog(PathBuf),
    #[error("cannot read {}: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error("{}: the log starts at position {first} because earlier records were archived and removed: name its archive with --archive", log.display())]
    Archived { log: PathBuf, first: Position },
    #[error(transparent)]
    Damaged(Damage),
    #[error("the audit was stopped")]
    Stopped,
    #[error("cannot start a thread: {0}")]
    Thread(io::Error),
}

pub(crate) fn open(log: &Path) -> Result<motherlode_log::Scan, Unusable> {
    if !log.is_dir() {
        return Err(Unusable::NoFolder(log.to_owned()));
    }
    let scan = motherlode_log::scan(log).map_err(|error| match error {
        ScanError::Io { path, source } => Unusable::Io { path, source },
        ScanError::Damaged(damage) => Unusable::Damaged(damage),
    })?;
    match scan.first() {
        1 => Ok(scan),
        first => Err(Unusable::Archived { log: log.to_owned(), first }),
    }
}
