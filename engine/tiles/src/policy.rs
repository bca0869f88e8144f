use crate::{
    keys::{KeyKind, VerifierKey},
    note::Note,
    text::Malformed,
};
use std::{collections::BTreeMap, str::FromStr};

const EACH_MAX: usize = 256;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// Keys of the logs whose checkpoints the policy accepts; can be empty.
    pub logs: Vec<VerifierKey>,
    pub witnesses: Vec<(String, VerifierKey)>,
    groups: Vec<(String, usize, Vec<String>)>,
    quorum: Option<String>,
}

impl Policy {
    #[must_use]
    pub fn cosigned(&self, checkpoint: &Note) -> BTreeMap<&str, u64> {
        let found = self.witnesses.iter().filter_map(|(name, key)| Some((&**name, checkpoint.verify(key).ok()?)));
        found.collect()
    }

    #[must_use]
    pub fn is_satisfied(&self, cosigned: &BTreeMap<&str, u64>) -> bool {
        let Some(quorum) = &self.quorum else { return true };
        let mut witnessed: Vec<&str> = cosigned.keys().copied().collect();
        for (name, needed, members) in &self.groups {
            if members.iter().filter(|member| witnessed.contains(&member.as_str())).count() >= *needed {
                witnessed.push(name);
            }
        }
        witnessed.contains(&quorum.as_str())
    }

    fn knows(&self, name: &str) -> bool {
        self.witnesses.iter().any(|(witness, _)| witness == name) || self.groups.iter().any(|(group, ..)| group == name)
    }

    fn is_new(&self, name: &str) -> bool {
        name != "none" && !self.knows(name)
    }

    fn take(&mut self, words: &[&str], quorum: &mut Option<Option<String>>) -> Option<()> {
        match *words {
            ["log", key] | ["log", key, _] => {
                let key: VerifierKey = key.parse().ok().filter(|key: &VerifierKey| key.kind() == KeyKind::Log)?;
                let fits = self.logs.len() < EACH_MAX && !self.logs.contains(&key);
                fits.then(|| self.logs.push(key))
            }
            ["witness", name, key] | ["witness", name, key, _] => {
                let key: VerifierKey = key.parse().ok().filter(|key: &VerifierKey| key.kind() == KeyKind::Witness)?;
                let twice = self.witnesses.iter().any(|(_, other)| other.public() == key.public());
                let fits = self.witnesses.len() < EACH_MAX && self.is_new(name) && !twice;
                fits.then(|| self.witnesses.push((name.to_owned(), key)))
            }
            ["group", name, needed, ref members @ ..] => {
                let needed = match needed {
                    "any" => 1,
                    "all" => members.len(),
                    digits => digits.parse().ok()?,
                };
                let once = |member: &&str| members.iter().filter(|other| *other == member).count() == 1;
                let taken = |member: &&str| self.groups.iter().any(|(.., of)| of.iter().any(|other| other == member));
                let each = members.iter().all(|member| self.knows(member) && once(member) && !taken(member));
                let fits = self.groups.len() < EACH_MAX && self.is_new(name) && each;
                let fits = fits && (1..=members.len()).contains(&needed);
                let members = members.iter().map(|&member| member.to_owned()).collect();
                fits.then(|| self.groups.push((name.to_owned(), needed, members)))
            }
            ["quorum", name] if quorum.is_none() && (name == "none" || self.knows(name)) => {
                *quorum = Some(Some(name.to_owned()).filter(|name| name != "none"));
                Some(())
            }
            _ => None,
        }
    }
}

impl FromStr for Policy {
    type Err = Malformed;

    fn from_str(text: &str) -> Result<Self, Malformed> {
        let mut policy = Self { logs: vec![], witnesses: vec![], groups: vec![], quorum: None };
        let mut quorum = None;
        for line in text.lines() {
            let line = line.trim_matches([' ', '\t']);
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let words: Vec<_> = line.split([' ', '\t']).filter(|word| !word.is_empty()).collect();
            policy
                .take(&words, &mut quorum)
                .ok_or(Malformed("the policy has a line that is not a valid log, witness, group or quorum line"))?;
        }
        policy.quorum = quorum.ok_or(Malformed("a policy must have exactly one quorum line"))?;
        Ok(policy)
    }
}
