use crate::{
    merkle::Hash,
    note::Note,
    text::{self, Malformed, base64, decimal, to_base64},
};
use std::{fmt, str::FromStr};

const HEADER: &str = "c2sp.org/tlog-proof@v1\n";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proof {
    /// Extra data, not authenticated.
    pub extra: Vec<u8>,
    pub index: u64,
    pub path: Vec<Hash>,
    pub checkpoint: Note,
}

impl Proof {
    pub const PATH_MAX: usize = 63;
}

impl fmt::Display for Proof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(HEADER)?;
        if !self.extra.is_empty() {
            writeln!(f, "extra {}", to_base64(&self.extra))?;
        }
        write!(f, "index {}\n{}\n{}", self.index, text::lines(&self.path), self.checkpoint)
    }
}

impl FromStr for Proof {
    type Err = Malformed;

    fn from_str(proof: &str) -> Result<Self, Malformed> {
        let read = || {
            let mut rest = proof.strip_prefix(HEADER)?;
            let mut extra = vec![];
            if let Some(behind) = rest.strip_prefix("extra ") {
                let (line, behind) = behind.split_once('\n')?;
                (extra, rest) = (base64(line).filter(|extra| !extra.is_empty())?, behind);
            }
            let (index, rest) = rest.strip_prefix("index ")?.split_once('\n')?;
            let (path, checkpoint) = text::path(rest, Self::PATH_MAX)?;
            Some((extra, decimal(index)?, path, checkpoint))
        };
        let (extra, index, path, checkpoint) =
            read().ok_or(Malformed("not a proof: expected the format c2sp.org/tlog-proof@v1"))?;
        Ok(Self { extra, index, path, checkpoint: checkpoint.parse()? })
    }
}
