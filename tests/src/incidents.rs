use crate::{Client, Server, pool::POOL};
use motherlode_proto::jackpot::v1::{DeclareIncidentRequest, Incident};
use std::time::Duration;

#[must_use]
pub fn incident(id: &str, operator: &str, until_ms: i64) -> Incident {
    let time = |ms: i64| {
        let nanos = i32::try_from(ms.rem_euclid(1_000) * 1_000_000).unwrap_or_default();
        Some(prost_types::Timestamp { seconds: ms.div_euclid(1_000), nanos })
    };
    Incident {
        incident_id: id.into(),
        operator_id: operator.into(),
        game: POOL.into(),
        rules_version: String::new(),
        from_time: time(until_ms - 3_600_000),
        until_time: time(until_ms),
        reason: "reel 3 stuck".into(),
        actor: String::new(),
    }
}

/// Waits until the contributions of all voided rounds are returned (PL-38). The service must have no operators; otherwise,
/// the incident would need a second actor's approval.
pub async fn give_back(server: &Server, client: &mut Client, id: &str) {
    let incident = Some(incident(id, "acme", server.ledger().now_ms()));
    let request_id = format!("incident-{id}");
    let request = DeclareIncidentRequest { request_id, pool_id: POOL.into(), incident, actor: "ops".into() };
    client.jackpot.declare_incident(request).await.expect("the incident is declared");
    let returned = async {
        while !is_returned(server) {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), returned).await.expect("contributions are returned");
}

fn is_returned(server: &Server) -> bool {
    let home = server.ledgers().home();
    let is_returned = home.books(|books| {
        let is_pooled = matches!(books.pool_step(POOL), Ok(None));
        is_pooled && books.voids_not_returned(POOL).is_empty()
    });
    let told = || {
        server.ledgers().others().all(|other| {
            home.books(|home| {
                other.books(|there| {
                    let reported = home.partition_report(POOL, other.partition(), there).is_none();
                    reported && home.pool_mirror(POOL, other.partition(), there).is_none()
                })
            })
        })
    };
    is_returned && told()
}
