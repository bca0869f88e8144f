use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verify {
    /// Full segments are verified in the background after the start; damage found there stops new rounds.
    #[default]
    Background,
    /// The whole log is verified before the first answer.
    All,
}

impl std::str::FromStr for Verify {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "background" => Ok(Self::Background),
            "all" => Ok(Self::All),
            _ => Err("must be background or all".to_owned()),
        }
    }
}
