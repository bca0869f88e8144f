use super::{Browser, Page, Service, rounds, service};
use crate::PROGRAM;
use motherlode_proto::{
    jackpot::v1::{DeclareIncidentRequest, Incident, SuspendPoolRequest},
    ledger::v1::{
        CancelRequestRequest, GetRequestRequest, ListSwitchesRequest, SetSwitchRequest, Switch, SwitchedOff,
        set_switch_request::State,
    },
};
use motherlode_state::{Event, StreamId};
use motherlode_tests::{Client, account, commits, config, incidents::incident, reason, start_fresh};
use std::collections::BTreeSet;
use tonic::{Code, Status};

fn off(request_id: &str, operator: &str, game: &str) -> SetSwitchRequest {
    SetSwitchRequest {
        request_id: request_id.into(),
        switch: Some(Switch { operator_id: operator.into(), game: game.into(), ..Switch::default() }),
        state: State::Off.into(),
        reason: "a fault".into(),
        ..SetSwitchRequest::default()
    }
}

async fn switched_off(client: &mut Client) -> Vec<SwitchedOff> {
    client.ledger.list_switches(ListSwitchesRequest {}).await.unwrap().into_inner().switched_off
}

fn banner(page: &Page) -> Option<&str> {
    Some(page.body.split_once("<div class=\"banner\"")?.1.split_once("</div>")?.0)
}

fn between<'a>(text: &'a str, before: &str, after: &str) -> &'a str {
    text.split_once(before).and_then(|(_, rest)| rest.split_once(after)).map_or("", |(found, _)| found)
}

fn section<'a>(page: &'a Page, heading: &str) -> &'a str {
    between(&page.body, &format!("<h2>{heading}</h2>"), "</section>")
}

fn pages(round: &str, record: &str) -> Vec<String> {
    let round = format!("/round/{round}");
    let more = ["", "?frame=1", "/check"].map(|more| format!("{round}{more}"));
    let paths = [
        "/",
        "/find",
        "/player/acme/alice",
        "/open/acme",
        "/jackpots",
        "/jackpots/bewitched",
        "/games",
        "/reports",
        "/reports/revenue",
        "/trust",
        "/log",
        record,
        "/switches?operator=acme&game=neptune",
    ];
    paths.into_iter().map(str::to_owned).chain(more).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn at_d1_every_page_says_what_is_stopped_and_now_has_it_among_its_alerts() {
    let service = service().await;
    let (_, over, _) = rounds(&service).await;
    let mut platform = service.client("platform-all").await;
    let mut browser = Browser::logged_in(service.server.console(), "acme-all").await;
    let mut logged = service.server.ledgers().all().flat_map(|ledger| commits(ledger, 1));
    let own = logged.find(|logged| logged.commit.stream == StreamId::player("acme", "alice")).unwrap();
    let record = format!("/log/{}/{}", own.commit.partition, own.commit.position);
    drop(logged);
    for path in pages(&over, &record) {
        let page = browser.get(&path).await;
        assert!(page.status == 200 && banner(&page).is_none(), "{path}: {}", page.status);
    }
    assert!(section(&browser.get("/").await, "Alerts").contains("None."));

    platform.ledger.set_switch(off("all", "", "")).await.unwrap();
    let suspend = SuspendPoolRequest {
        request_id: "suspend".into(),
        pool_id: "bewitched".into(),
        reason: "audit".into(),
        actor: String::new(),
    };
    platform.jackpot.suspend_pool(suspend).await.unwrap();
    let stops = ["New rounds of the whole service have been switched off", "a fault", "is suspended"];
    let shown = async |browser: &mut Browser, path: &str| loop {
        let page = browser.get(path).await;
        assert_eq!(page.status, 200, "{path}");
        match banner(&page) {
            Some(told) if stops.iter().all(|stop| told.contains(stop)) => return page,
            _ => tokio::time::sleep(std::time::Duration::from_millis(50)).await,
        }
    };
    for path in pages(&over, &record) {
        shown(&mut browser, &path).await;
    }
    for token in ["acme-play", "acme-admin", "bravo-support", "platform-audit"] {
        let mut browser = Browser::logged_in(service.server.console(), token).await;
        let now = shown(&mut browser, "/").await;
        let alerts = section(&now, "Alerts");
        assert!(stops.iter().all(|stop| alerts.contains(stop)), "{token}: {alerts}");
    }
    service.server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn at_d2_a_part_is_chosen_and_switched_off_after_a_page_that_says_what_is_affected() {
    let service = service().await;
    rounds(&service).await;
    let mut client = service.client("platform-all").await;
    let mut browser = Browser::logged_in(service.server.console(), "platform-all").await;
    let trust = browser.get("/trust").await;
    let form = between(&trust.body, "action=\"/switches\"", "</form>");
    assert!(form.contains("<select") && !form.contains("<input"), "the form has fields other than selections: {form}");
    let options: BTreeSet<_> =
        form.split("<option value=\"").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
    assert!(["", "*", "acme", "bravo", "bewitched", "neptune"].iter().all(|option| options.contains(option)), "{form}");
    assert!(!options.contains("platform"), "the operator platform is not offered, because it has no players");

    for nothing in ["", "?operator=&game=", "?operator=*", "?game=*"] {
        assert_eq!(browser.get(&format!("/switches{nothing}")).await.status, 400, "{nothing}");
    }
    let page = browser.get("/switches?operator=*&game=*").await;
    let affected = section(&page, "Affected");
    for name in ["acme", "bravo", "bewitched", "neptune", "dwarf-mine", "mystery-elves", "witch-feature"] {
        assert!(affected.contains(name), "{name}: {affected}");
    }
    let row = between(affected, "<th scope=\"row\">acme</th>", "</tr>");
    assert_eq!(row, "<td class=\"n\">1</td><td class=\"n\">1</td>", "acme has one player with one open round");
    let word = page.hidden("/switches", "word").unwrap();
    let empty = [("word", &*word), ("request", "x"), ("state", "off"), ("reason", "why")];
    let other = [&empty[..], &[("operator", ""), ("game", ""), ("version", ""), ("confirmed", "neptune")]].concat();
    for unconfirmed in [&empty[..], &other] {
        assert_eq!(browser.post("/switches", unconfirmed).await.status, 400);
    }
    assert_eq!(switched_off(&mut client).await, []);

    assert_eq!(browser.get("/switches?operator=acmee&game=*").await.status, 404);
    let refused = client.ledger.set_switch(off("mistyped", "acmee", "")).await.unwrap_err();
    assert_eq!((refused.code(), &*reason(&refused)), (Code::NotFound, "OPERATOR_UNKNOWN"));
    assert_eq!(switched_off(&mut client).await, []);
    let preview = SetSwitchRequest { preview: true, ..off("once", "bravo", "neptune") };
    client.ledger.set_switch(preview).await.unwrap();
    assert_eq!(switched_off(&mut client).await, [], "a preview changes nothing");
    client.ledger.set_switch(off("once", "bravo", "neptune")).await.unwrap();

    let page = browser.get("/switches?operator=acme&game=neptune").await;
    let fields = ["operator", "game", "version", "state", "confirmed"];
    let filled = fields.map(|name| (name, page.hidden("/switches", name).unwrap()));
    let mut filled: Vec<_> = filled.iter().map(|(name, value)| (*name, value.as_str())).collect();
    filled.extend([("reason", "a fault"), ("actor", "T-7")]);
    let done = browser.submit(&page, "/switches", &filled).await;
    assert_eq!((done.status, done.header("location")), (303, "/trust"), "{}", done.body);
    let off = switched_off(&mut client).await;
    let parts: Vec<_> = off.iter().map(|of| of.switch.clone().unwrap()).map(|of| (of.operator_id, of.game)).collect();
    assert_eq!(parts, [("acme".into(), "neptune".into()), ("bravo".into(), "neptune".into())]);

    let mut acme = Browser::logged_in(service.server.console(), "acme-admin").await;
    let trust = acme.get("/trust").await;
    let form = between(&trust.body, "action=\"/switches\"", "</form>");
    assert!(form.contains("value=\"acme\"") && !form.contains("bravo") && !form.contains("all operators"), "{form}");
    assert_eq!(acme.get("/switches?operator=*&game=*").await.status, 403);
    service.server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn at_d2_without_operators_one_that_is_in_the_log_is_known_and_no_other() {
    let data = tempfile::tempdir().unwrap();
    let server = start_fresh(&config(data.path())).await;
    let mut client = Client::connect(server.address()).await;
    let refused = client.ledger.set_switch(off("early", "acme", "")).await.unwrap_err();
    assert_eq!((refused.code(), &*reason(&refused)), (Code::NotFound, "OPERATOR_UNKNOWN"));
    client.fund_account(&account("alice", "EUR"), 100).await;
    client.ledger.set_switch(off("known", "acme", "")).await.unwrap();
    assert_eq!(switched_off(&mut client).await.len(), 1);
    server.stop().await.unwrap();
}

fn declare(request_id: &str, operator: &str, game: &str, until_ms: i64) -> DeclareIncidentRequest {
    DeclareIncidentRequest {
        request_id: request_id.into(),
        pool_id: "bewitched".into(),
        incident: Some(Incident { game: game.into(), ..incident(request_id, operator, until_ms) }),
        actor: String::new(),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn at_d2_incidents_and_cancellations_are_refused_for_an_operator_or_a_game_that_does_not_exist() {
    let refused = |status: &Status| (status.code(), reason(status));
    let no_operator = (Code::NotFound, "OPERATOR_UNKNOWN".to_owned());
    let data = tempfile::tempdir().unwrap();
    let server = start_fresh(&config(data.path())).await;
    let mut client = Client::connect(server.address()).await;
    let (now_ms, end) = (server.ledger().now_ms(), server.ledger().durable());
    let cancel = CancelRequestRequest { operator_id: "acme".into(), request_id: "x".into(), ..Default::default() };
    let get = GetRequestRequest { operator_id: "acme".into(), request_id: "x".into(), ..Default::default() };
    let early = client.jackpot.declare_incident(declare("early", "acme", "bewitched", now_ms)).await.unwrap_err();
    assert_eq!(refused(&early), no_operator);
    assert_eq!(refused(&client.ledger.cancel_request(cancel.clone()).await.unwrap_err()), no_operator);
    assert_eq!(refused(&client.ledger.get_request(get.clone()).await.unwrap_err()), no_operator);
    assert_eq!(server.ledger().durable(), end, "no commit was written");
    client.fund_account(&account("alice", "EUR"), 100).await;
    let game = client.jackpot.declare_incident(declare("game", "acme", "bewiched", now_ms)).await.unwrap_err();
    assert_eq!(refused(&game), (Code::NotFound, "GAME_UNKNOWN".to_owned()));
    client.jackpot.declare_incident(declare("known", "acme", "bewitched", now_ms)).await.unwrap();
    client.ledger.cancel_request(cancel).await.unwrap();
    client.ledger.get_request(get).await.unwrap();
    server.stop().await.unwrap();

    let service = service().await;
    let now_ms = service.server.ledger().now_ms();
    let mut platform = service.client("platform-all").await;
    let mistyped = platform.jackpot.declare_incident(declare("mistyped", "acmee", "bewitched", now_ms)).await;
    assert_eq!(refused(&mistyped.unwrap_err()), no_operator);
    let itself = platform.jackpot.declare_incident(declare("itself", "platform", "bewitched", now_ms)).await;
    assert_eq!(refused(&itself.unwrap_err()), no_operator);
    let declared = platform.jackpot.declare_incident(declare("bravo", "bravo", "bewitched", now_ms)).await.unwrap();
    assert!(declared.into_inner().change_id > 0);
    service.server.stop().await.unwrap();
}

fn references(service: &Service) -> BTreeSet<String> {
    let commits = service.server.ledgers().all().flat_map(|ledger| commits(ledger, 1));
    commits.filter_map(|logged| Some(logged.commit.acted_by()?.1.to_owned())).collect()
}

fn change(page: &Page, end: &str) -> String {
    let mut actions = page.body.split("action=\"").map(|part| part.split('"').next().unwrap());
    actions.find(|action| action.ends_with(end)).unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn at_d3_a_ticket_is_kept_by_whatever_form_it_was_typed_in() {
    let service = service().await;
    let (_, over, open) = rounds(&service).await;
    let mut acme = Browser::logged_in(service.server.console(), "acme-all").await;
    let mut ann = Browser::logged_in(service.server.console(), "platform-all").await;
    let mut bob = Browser::logged_in(service.server.console(), "platform-two").await;
    let typed = |ticket| [("reason", "a fault"), ("actor", ticket)];
    let mut tickets = BTreeSet::new();
    let mut done = |page: Page, ticket: &str| {
        assert_eq!(page.status, 303, "{ticket}: {}", page.body);
        tickets.insert(ticket.to_owned());
    };
    let path = format!("/round/{over}");
    let page = acme.get(&path).await;
    done(acme.submit(&page, &format!("{path}/void"), &typed("T-void")).await, "T-void");
    let path = format!("/round/{open}");
    let page = acme.get(&path).await;
    done(acme.submit(&page, &format!("{path}/close"), &typed("T-close")).await, "T-close");
    let page = acme.get("/switches?operator=acme&game=neptune").await;
    let part = [("operator", "acme"), ("game", "neptune"), ("state", "off"), ("confirmed", "neptune of acme")];
    done(acme.submit(&page, "/switches", &[&part[..], &typed("T-off")].concat()).await, "T-off");
    let page = acme.get("/trust").await;
    let part = [("operator", "acme"), ("game", "neptune"), ("state", "on")];
    let section = Page { body: section(&page, "Switched off").to_owned(), ..page };
    done(acme.submit(&section, "/switches", &[&part[..], &typed("T-on")].concat()).await, "T-on");
    let mut two = Browser::logged_in(service.server.console(), "acme-two").await;
    let page = two.get("/trust").await;
    let reject = change(&page, "/reject");
    done(two.submit(&page, &reject, &typed("T-reject")).await, "T-reject");
    let pool = "/jackpots/bewitched";
    let page = ann.get(pool).await;
    done(ann.submit(&page, &format!("{pool}/suspend"), &typed("T-suspend")).await, "T-suspend");
    let page = ann.get(pool).await;
    done(ann.submit(&page, &format!("{pool}/resume"), &typed("T-resume")).await, "T-resume");
    let page = bob.get("/trust").await;
    let approve = change(&page, "/approve");
    done(bob.submit(&page, &approve, &typed("T-approve")).await, "T-approve");
    let page = ann.get(pool).await;
    let times = [("from", "2026-12-01T10:00:00Z"), ("until", "2026-12-01T11:00:00Z")];
    let incident = [&times[..], &[("incident", "i-1"), ("operator", "acme"), ("version", "")]].concat();
    let filled = [incident, typed("T-incident").to_vec()].concat();
    done(ann.submit(&page, &format!("{pool}/incident"), &filled).await, "T-incident");
    let kept = references(&service);
    assert_eq!(tickets.difference(&kept).collect::<Vec<_>>(), Vec::<&String>::new(), "{kept:?}");
    let events = ann.get("/reports").await;
    for ticket in ["T-resume", "T-approve"] {
        assert!(events.body.contains(ticket), "{ticket}");
    }
    service.server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn at_d3_the_platform_is_led_to_records_and_not_told_that_no_round_waits() {
    let service = service().await;
    let (_, over, _) = rounds(&service).await;
    let mut acme = Browser::logged_in(service.server.console(), "acme-all").await;
    let mut platform = Browser::logged_in(service.server.console(), "platform-all").await;
    let page = platform.get("/open/acme").await;
    assert!(page.status == 200 && !page.body.contains("No round is open"), "{}", page.body);
    assert!(page.body.contains("1 rounds are open"), "{}", page.body);
    let mut auditor = Browser::logged_in(service.server.console(), "platform-audit").await;
    let page = auditor.get("/open/acme").await;
    assert!(
        !page.body.contains("No round is open") && page.body.contains("Only credentials of acme can see its rounds"),
        "{}",
        page.body
    );
    let mut bravo = Browser::logged_in(service.server.console(), "bravo-all").await;
    let [there, not] = [bravo.get("/open/acme").await, bravo.get("/open/nobody").await];
    assert_eq!(super::text(&there).replace("acme", "nobody"), super::text(&not));

    let path = format!("/round/{over}");
    let page = acme.get(&path).await;
    let filled = [("reason", "a fault"), ("actor", "")];
    assert_eq!(acme.submit(&page, &format!("{path}/void"), &filled).await.status, 303);
    let now = acme.get("/").await;
    assert!(now.body.contains(&format!("href=\"{path}\"")));
    let now = platform.get("/").await;
    assert!(now.body.contains(&over) && !now.body.contains("href=\"/round/"), "{}", now.body);
    let link = now.body.split("href=\"").map(|rest| rest.split('"').next().unwrap());
    let record = link.into_iter().find(|link| link.starts_with("/log/")).unwrap().to_owned();
    let page = platform.get(&record).await;
    assert!(page.status == 200 && page.body.contains("Round voided"), "{}", page.body);
    assert!(!page.body.contains("href=\"/player/"), "the page of another operator's player is not linked");
    service.server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn at_d3_a_record_of_a_switch_says_off_and_on() {
    let data = tempfile::tempdir().unwrap();
    let text = "[console]\nlisten = \"127.0.0.1:0\"\n";
    let console = motherlode_runtime::Config::parse(text).unwrap().console;
    let server = start_fresh(&motherlode_runtime::Config { console, ..config(data.path()) }).await;
    let mut client = Client::connect(server.address()).await;
    let off = off("off", "", "neptune");
    client.ledger.set_switch(off.clone()).await.unwrap();
    client
        .ledger
        .set_switch(SetSwitchRequest { request_id: "on".into(), state: State::On.into(), ..off })
        .await
        .unwrap();
    let is_switch = |event: &Event| matches!(event, Event::SwitchSet { .. });
    let of_switches = commits(server.ledgers().home(), 1).filter(|logged| logged.commit.events.iter().any(is_switch));
    let positions: Vec<_> = of_switches.map(|logged| logged.commit.position).collect();
    let mut browser = Browser::new(server.console());
    browser.post("/login", &[]).await;
    let log = browser.get("/log").await;
    for (position, state) in positions.iter().zip([false, true]) {
        let page = browser.get(&format!("/log/0/{position}")).await;
        assert!(page.body.contains(&format!("&quot;on&quot;: {state}")), "{}", page.body);
        let word = if state { "switched on" } else { "switched off" };
        let line = between(&log.body, &format!("href=\"/log/0/{position}\""), "</tr>");
        let told = between(line, "switch set<span class=\"soft\">: ", "</span>");
        assert!(told.split(", ").any(|part| part == word), "{line}");
    }
    let url = format!("http://{}", server.address());
    let exported = tokio::task::spawn_blocking(move || {
        let arguments = ["export", "events", &url, "--format", "jsonl"];
        let output = std::process::Command::new(PROGRAM).args(arguments).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    });
    let exported = exported.await.unwrap();
    let states: Vec<_> = exported
        .lines()
        .filter(|line| line.contains("switch_set") && line.contains("\"partition\":0,"))
        .map(|line| (line.contains("\"on\":false"), line.contains("\"on\":true")))
        .collect();
    assert_eq!(states, [(true, false), (false, true)], "{exported}");
    server.stop().await.unwrap();
}

fn titles(page: &Page) -> Vec<&str> {
    let head = between(&page.body, "<thead>", "</thead>");
    let titles = head.split("<th scope=\"col\"").skip(1).map(|rest| rest.split_once('>').unwrap().1);
    titles.map(|rest| rest.split('<').next().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn at_d4_the_deciding_figure_stands_directly_after_the_names() {
    let service = service().await;
    rounds(&service).await;
    let mut browser = Browser::logged_in(service.server.console(), "platform-all").await;
    let page = browser.get("/reports/reconciliation").await;
    assert_eq!(titles(&page)[..3], ["Day", "Pool", "Difference"]);
    assert!(page.body.contains("class=\"scroll figures\""));
    let page = browser.get("/reports/revenue").await;
    assert_eq!(titles(&page)[..4], ["Day", "Operator", "Game", "Revenue"]);
    assert!(page.body.contains("class=\"scroll figures\""));
    let style = browser.get("/console.css").await.body;
    assert!(style.contains(".console main:has(table) { max-width: 118rem; }"));
    service.server.stop().await.unwrap();
}
