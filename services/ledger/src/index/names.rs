//! Names by which a commit can be found if its player is not known: the caller's request id, the name of an opened
//! session or the operator's reference for it, and the id of a granted campaign.

use motherlode_proto::convert::play::hex;
use motherlode_runtime::config::PLATFORM;
use motherlode_state::{Commit, Event, StreamId, is_id};
use motherlode_views::filter_hash;

pub(super) fn key(operator: &str, name: &str) -> [u8; 8] {
    filter_hash(&[operator.as_bytes(), &[0], name.as_bytes()].concat()).to_be_bytes()
}

pub(crate) fn of_commit(commit: &Commit, mut each: impl FnMut(&str, &str)) {
    let operator = match &commit.stream {
        StreamId::Player { operator, .. } => operator.as_str(),
        _ => PLATFORM,
    };
    if let Some((operator, request_id)) = callers(operator, &commit.request_id) {
        each(operator, request_id);
    }
    for event in &commit.events {
        match event {
            Event::SessionOpened(opened) => each(operator, &hex(&opened.session)),
            Event::OperatorSession { session } => each(operator, session),
            Event::CampaignGranted(campaign) => each(operator, &campaign.id),
            _ => {}
        }
    }
}

/// Returns the operator and the request id that the caller chose; `None` for the ledger's own requests.
fn callers<'a>(operator: &'a str, request_id: &'a str) -> Option<(&'a str, &'a str)> {
    match request_id.split_once('/') {
        None => is_id(request_id).then_some((operator, request_id)),
        Some(("of", named)) => named.split_once('/'),
        Some(("open-session" | "debit", caller)) => is_id(caller).then_some((operator, caller)),
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pl_20_a_request_is_named_by_its_callers_id() {
        for (id, named) in [
            ("r-1", Some(("acme", "r-1"))),
            ("open-session/r-1", Some(("acme", "r-1"))),
            ("debit/r-1", Some(("acme", "r-1"))),
            ("of/platform/r-1", Some(("platform", "r-1"))),
            ("debit/auto/7/2", None),
            ("auto/7/2", None),
            ("award/bewitched/2/70", None),
            ("seal/1", None),
        ] {
            assert_eq!(callers("acme", id), named, "{id}");
        }
        assert_ne!(key("ab", "c"), key("a", "bc"));
    }
}
