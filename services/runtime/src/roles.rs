use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::{fmt, ops::BitOr};

/// Set of roles. No role includes another role's permissions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Roles(u8);

impl Roles {
    pub const NONE: Self = Self(0);
    /// Permits the calls for bets, choices, sessions and games.
    pub const PLAY: Self = Self(1);
    /// Permits the calls for accounts, deposits and withdrawals.
    pub const WALLET: Self = Self(2);
    /// Permits voiding, closing and reading rounds.
    pub const SUPPORT: Self = Self(4);
    /// Permits reading the operator's data.
    pub const AUDIT: Self = Self(8);
    /// Permits changing the switches that stop new rounds of the operator's players; for the platform, also pools,
    /// rates and all other switches.
    pub const ADMIN: Self = Self(16);
    /// Spin process (PL-44): reads the log; proposes rounds, draws, sessions, campaigns and debits.
    pub const NODE_SPIN: Self = Self(32);
    /// Jackpot process: reads the log; proposes pool commits and award payments.
    pub const NODE_JACKPOT: Self = Self(64);
    /// `ledger` process: reads the log; proposes the commits of its services.
    pub const NODE_LEDGER: Self = Self(128);
    /// Meaning of the role `node` in older configurations.
    pub const NODE: Self = Self::NODE_SPIN.or(Self::NODE_JACKPOT);
    /// Roles of the installation's processes, which only platform credentials may have.
    pub const NODES: Self = Self::NODE.or(Self::NODE_LEDGER);
    pub const ANY: Self = Self(255);

    #[must_use]
    pub const fn meets(self, others: Self) -> bool {
        self.0 & others.0 != 0
    }

    #[must_use]
    pub const fn and(self, others: Self) -> Self {
        Self(self.0 & others.0)
    }

    #[must_use]
    pub const fn or(self, others: Self) -> Self {
        Self(self.0 | others.0)
    }
}

impl BitOr for Roles {
    type Output = Self;

    fn bitor(self, others: Self) -> Self {
        self.or(others)
    }
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Role {
    Play,
    Wallet,
    Support,
    Audit,
    Admin,
    NodeSpin,
    NodeJackpot,
    NodeLedger,
    Node,
}

impl Role {
    fn roles(self) -> Roles {
        ALL.get(self as usize).map_or(Roles::NODE, |(_, roles, _)| *roles)
    }
}

const ALL: [(Role, Roles, &str); 8] = [
    (Role::Play, Roles::PLAY, "play"),
    (Role::Wallet, Roles::WALLET, "wallet"),
    (Role::Support, Roles::SUPPORT, "support"),
    (Role::Audit, Roles::AUDIT, "audit"),
    (Role::Admin, Roles::ADMIN, "admin"),
    (Role::NodeSpin, Roles::NODE_SPIN, "node-spin"),
    (Role::NodeJackpot, Roles::NODE_JACKPOT, "node-jackpot"),
    (Role::NodeLedger, Roles::NODE_LEDGER, "node-ledger"),
];

impl fmt::Display for Roles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = ALL.iter().filter(|(_, role, _)| self.meets(*role)).map(|(.., name)| *name).collect();
        f.write_str(&names.join(" "))
    }
}

impl Serialize for Roles {
    fn serialize<S: Serializer>(&self, into: S) -> Result<S::Ok, S::Error> {
        into.collect_seq(ALL.iter().filter(|(_, role, _)| self.meets(*role)).map(|(.., name)| *name))
    }
}

impl<'de> Deserialize<'de> for Roles {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let roles = Vec::<Role>::deserialize(from)?;
        Ok(roles.into_iter().fold(Self::NONE, |roles, role| roles | role.roles()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pl_27_each_role_is_one_of_its_own_and_none_includes_another() {
        for (number, (role, roles, name)) in ALL.into_iter().enumerate() {
            assert_eq!((role as usize, roles.to_string().as_str()), (number, name));
            for (other, ..) in ALL.iter().filter(|(other, ..)| *other as usize != number) {
                assert!(!roles.meets(ALL[*other as usize].1));
            }
            assert!(roles.meets(Roles::ANY));
        }
        assert_eq!((Roles::PLAY | Roles::ADMIN).to_string(), "play admin");
        assert_eq!(Role::Node.roles(), Roles::NODE_SPIN | Roles::NODE_JACKPOT);
    }
}
