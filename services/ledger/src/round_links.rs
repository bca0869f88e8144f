//! Links to the public pages of finished rounds. A link contains a key, so that only its recipients can open the page.

use data_encoding::BASE64URL_NOPAD;
use motherlode_proto::round::v1::{Round, RoundState};
use ring::hmac;
use std::sync::Arc;

const PURPOSE: &str = "motherlode/link/v1";

#[derive(Clone)]
pub struct RoundLinks {
    address: Arc<str>,
    key: hmac::Key,
}

impl RoundLinks {
    /// `secret` must stay the same after restarts, because links are permanent.
    #[must_use]
    pub fn new(address: &str, secret: &[u8; 32]) -> Self {
        Self { address: address.trim_end_matches('/').into(), key: hmac::Key::new(hmac::HMAC_SHA256, secret) }
    }

    #[must_use]
    pub fn url(&self, round_id: &str) -> String {
        let key = BASE64URL_NOPAD.encode(hmac::sign(&self.key, &message(round_id)).as_ref());
        format!("{}/check/{round_id}?key={key}", self.address)
    }

    #[must_use]
    pub fn opens(&self, round_id: &str, link_key: &str) -> bool {
        let key = BASE64URL_NOPAD.decode(link_key.as_bytes());
        key.is_ok_and(|key| hmac::verify(&self.key, &message(round_id), &key).is_ok())
    }

    /// An open round gets no link, because the page would reveal draws that are still hidden.
    pub(crate) fn add(&self, round: &mut Round) {
        if matches!(round.state(), RoundState::Settled | RoundState::Voided) {
            round.check_url = self.url(&round.round_id);
        }
    }
}

fn message(round_id: &str) -> Vec<u8> {
    format!("{PURPOSE}\n{round_id}\n").into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn links(secret: u8) -> RoundLinks {
        RoundLinks::new("https://check.example.com/", &[secret; 32])
    }

    fn key(links: &RoundLinks, round_id: &str) -> String {
        links.url(round_id).split_once("?key=").unwrap().1.to_owned()
    }

    #[test]
    fn pl_28_a_link_opens_its_round_and_no_other() {
        let links_of_7 = links(7);
        let own = key(&links_of_7, "acme/alice/1");
        assert_eq!(links_of_7.url("acme/alice/1"), format!("https://check.example.com/check/acme/alice/1?key={own}"));
        assert!(links_of_7.opens("acme/alice/1", &own));
        for other in ["acme/alice/2", "acme/alice/11", "acme/alic/1", "bravo/alice/1", "acme/alice/1 ", ""] {
            assert!(!links_of_7.opens(other, &own), "{other:?}");
        }
        assert!(!links(8).opens("acme/alice/1", &own), "another secret");
        for bad in ["", "AAAA", &own[1..], &format!("{own}A"), &own.to_lowercase(), &"x".repeat(60_000)] {
            assert!(!links_of_7.opens("acme/alice/1", bad), "{bad:?}");
        }
    }

    #[test]
    fn np_12_an_open_round_has_no_link() {
        let round =
            |state: RoundState| Round { round_id: "acme/alice/1".into(), state: state.into(), ..Round::default() };
        for (state, has_link) in [
            (RoundState::Open, false),
            (RoundState::Unspecified, false),
            (RoundState::Settled, true),
            (RoundState::Voided, true),
        ] {
            let mut round = round(state);
            links(7).add(&mut round);
            assert_eq!(!round.check_url.is_empty(), has_link, "{state:?}");
        }
    }
}
