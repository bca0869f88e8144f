//! `verify` in the configuration: what of the log is read before the first answer.

use serde::{Deserialize, Serialize};

/// When the log is verified.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verify {
    /// Full segments behind the service, which begins to answer before; all else before. If a segment is not as it was written,
    /// new rounds are stopped then.
    #[default]
    Behind,
    /// All of the log before the service answers.
    All,
}

impl std::str::FromStr for Verify {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "behind" => Ok(Self::Behind),
            "all" => Ok(Self::All),
            _ => Err("must be behind or all".to_owned()),
        }
    }
}
