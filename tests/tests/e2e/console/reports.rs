use super::{browser::Browser, round, rounds, service};

#[tokio::test(flavor = "multi_thread")]
async fn pl_22_reports_are_had_as_files() {
    let service = service().await;
    let (_, over, _) = rounds(&service).await;
    let mut browser = Browser::logged_in(service.server.console(), "acme-all").await;
    let page = browser.get(&format!("/round/{over}")).await;
    let typed = [("reason", "=cmd, \"x\""), ("actor", "")];
    browser.submit(&page, &format!("/round/{over}/void"), &typed).await;
    let csv = browser.get("/reports/events.csv?kind=2").await;
    assert_eq!(csv.header("content-type"), "text/csv; charset=utf-8");
    let lines: Vec<_> = csv.body.lines().collect();
    assert_eq!((lines.len(), lines[0].split(',').count()), (2, 12), "{lines:?}");
    assert!(lines[1].contains(&over) && lines[1].contains("\"'=cmd, \"\"x\"\"\""), "{lines:?}");
    let json = browser.get("/reports/events.jsonl?kind=2").await;
    let event: serde_json::Value = serde_json::from_str(json.body.trim()).unwrap();
    assert_eq!((event["subject"].as_str(), event["reason"].as_str()), (Some(over.as_str()), Some(typed[0].1)));
    assert_eq!(browser.get("/reports/returns.csv").await.status, 200);
    assert_eq!(browser.get("/reports/events.xlsx").await.status, 404);
    assert!(browser.get("/reports?kind=4").await.body.contains("No activity."));
    for (days, there) in [("from=2026-12-31&to=2026-12-31", true), ("to=2026-12-30", false), ("from=2027-01-01", false)]
    {
        let page = browser.get(&format!("/reports?kind=2&{days}")).await;
        assert_eq!((page.status, page.body.contains(&over)), (200, there), "{days}: {}", page.body);
        assert_eq!(page.body.contains("No activity."), !there, "{days}");
        assert_eq!(
            browser.get(&format!("/reports/events.jsonl?kind=2&{days}")).await.body.is_empty(),
            !there,
            "{days}"
        );
    }
    assert_eq!(browser.get("/reports?from=yesterday").await.status, 400);
    service.server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_34_revenue_of_any_interval_is_a_page_and_files_of_ones_own() {
    let service = service().await;
    let (_, over, _) = rounds(&service).await;
    let bet = round(&service, &over).await.bet.unwrap().amount_minor;
    let mut browser = Browser::logged_in(service.server.console(), "acme-all").await;
    let page = browser.get(&format!("/round/{over}")).await;
    let typed = [("reason", "stuck"), ("actor", "")];
    assert_eq!(browser.submit(&page, &format!("/round/{over}/void"), &typed).await.status, 303);
    let json = browser.get("/reports/revenue.jsonl").await;
    let row: serde_json::Value = serde_json::from_str(json.body.trim()).unwrap();
    let field = |name: &str| row[name].as_str().unwrap();
    assert_eq!((field("bets_minor"), field("refunds_minor")), (&*(2 * bet).to_string(), &*bet.to_string()));
    assert_eq!((field("revenue_minor"), field("rounds"), field("voided_rounds")), (&*bet.to_string(), "2", "1"));
    let day = field("date");
    let csv = browser.get(&format!("/reports/revenue.csv?from={day}&to={day}")).await;
    assert_eq!(csv.header("content-type"), "text/csv; charset=utf-8");
    let lines: Vec<Vec<_>> = csv.body.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!((lines.len(), lines[0].len(), lines[1].len()), (2, 16, 16), "{lines:?}");
    assert_eq!((lines[0][15], lines[1][15]), ("revenue_minor", &*bet.to_string()));
    let page = browser.get(&format!("/reports/revenue?from={day}&to={day}")).await;
    assert!(page.body.contains(&format!("0.{bet:02} EUR")) && !page.body.contains("No activity."), "{}", page.body);
    assert!(page.body.contains(&format!("/reports/revenue.csv?from={day}&amp;to={day}")), "{}", page.body);
    for nothing in ["?from=2999-01-01", "?to=1999-12-31", "?game=neptune", "?operator=bravo"] {
        assert!(browser.get(&format!("/reports/revenue{nothing}")).await.body.contains("No activity."), "{nothing}");
        assert_eq!(browser.get(&format!("/reports/revenue.jsonl{nothing}")).await.body, "", "{nothing}");
    }
    for refused in ["?from=yesterday", "?to=2026-02-30", "?page=x"] {
        assert_eq!(browser.get(&format!("/reports/revenue{refused}")).await.status, 400, "{refused}");
    }
    assert_eq!(browser.get("/reports/revenue.xlsx").await.status, 404);
    let mut other = Browser::logged_in(service.server.console(), "bravo-all").await;
    assert!(other.get("/reports/revenue?operator=acme").await.body.contains("No activity."));
    service.server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_24_reconciliation_of_any_interval_is_a_page_and_files_for_the_platform() {
    let service = service().await;
    rounds(&service).await;
    let mut browser = Browser::logged_in(service.server.console(), "platform-all").await;
    let page = browser.get("/reports/reconciliation").await;
    assert!(
        page.status == 200 && page.body.contains("bewitched") && !page.body.contains("class=\"bad"),
        "{}",
        page.body
    );
    let csv = browser.get("/reports/reconciliation.csv").await;
    let lines: Vec<Vec<_>> = csv.body.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!((lines[0].len(), lines[0][17]), (18, "difference"), "{lines:?}");
    let day = lines[1][0];
    let json = browser.get(&format!("/reports/reconciliation.jsonl?from={day}&to={day}")).await;
    let of: serde_json::Value = serde_json::from_str(json.body.trim()).unwrap();
    assert_eq!((of["date"].as_str(), of["pool_id"].as_str()), (Some(day), Some("bewitched")));
    assert!(browser.get("/reports/reconciliation?to=1999-12-31").await.body.contains("No activity."));
    let refused = browser.get("/reports/reconciliation?from=%22%3E%3Cscript%3E").await;
    assert!(refused.status == 400 && !refused.body.contains("<script>"), "{}", refused.body);
    assert_eq!(browser.get("/reports/reconciliation?from=1999-01-01").await.status, 400, "at most 366 days");
    assert_eq!(browser.get("/reports/reconciliation.xlsx").await.status, 404);
    service.server.stop().await.unwrap();
}
