//! Roles: the permissions of a credential (PL-27).

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::{fmt, ops::BitOr};

/// A set of roles. In a configuration it's a list of names; none includes another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Roles(u8);

impl Roles {
    /// No role.
    pub const NONE: Self = Self(0);
    /// Plays: bets, choices, sessions, games.
    pub const PLAY: Self = Self(1);
    /// Moves money: accounts, deposits, withdrawals.
    pub const WALLET: Self = Self(2);
    /// Helps players: voids and closes rounds, reads them.
    pub const SUPPORT: Self = Self(4);
    /// Reads all of the operator's own data.
    pub const AUDIT: Self = Self(8);
    /// Administers: the switches of the operator's own players; for the platform, the pools, rates and all switches.
    pub const ADMIN: Self = Self(16);
    /// Is a process of the installation: reads the log and proposes to it, for the platform alone.
    pub const NODE: Self = Self(32);
    /// Any role.
    pub const ANY: Self = Self(63);

    /// Whether the sets share a role.
    #[must_use]
    pub const fn meets(self, others: Self) -> bool {
        self.0 & others.0 != 0
    }

    /// The union of both sets: [`BitOr`] in constants.
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

/// The roles' names in the configuration, in the order of their bits.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Role {
    Play,
    Wallet,
    Support,
    Audit,
    Admin,
    Node,
}

const ALL: [(Role, Roles, &str); 6] = [
    (Role::Play, Roles::PLAY, "play"),
    (Role::Wallet, Roles::WALLET, "wallet"),
    (Role::Support, Roles::SUPPORT, "support"),
    (Role::Audit, Roles::AUDIT, "audit"),
    (Role::Admin, Roles::ADMIN, "admin"),
    (Role::Node, Roles::NODE, "node"),
];

/// Names, separated by blanks.
impl fmt::Display for Roles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = ALL.iter().filter(|(_, role, _)| self.meets(*role)).map(|(.., name)| *name).collect();
        f.write_str(&names.join(" "))
    }
}

impl Serialize for Roles {
    /// By name, in the order of the roles, whatever the order in the file.
    fn serialize<S: Serializer>(&self, into: S) -> Result<S::Ok, S::Error> {
        into.collect_seq(ALL.iter().filter(|(_, role, _)| self.meets(*role)).map(|(.., name)| *name))
    }
}

impl<'de> Deserialize<'de> for Roles {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let roles = Vec::<Role>::deserialize(from)?;
        Ok(roles.into_iter().fold(Self::NONE, |roles, role| roles | ALL[role as usize].1))
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
    }
}
