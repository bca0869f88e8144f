use super::{
    Face, Service, account, is_open, json, listed, owner,
    rows::{Names, ROWS, Row},
    waiting,
};
use data_encoding::BASE64;
use motherlode_tests::seamless;
use prost_reflect::MethodDescriptor;
use serde_json::Value;
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

const WRITE: &str = "MOTHERLODE_WRITE_DOCUMENTS";

const ANSWER: &str = "\n## Answer\n";

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/reference/generated/calls")
}

fn comment(method: &MethodDescriptor) -> String {
    let file = method.parent_service().parent_file();
    let source = file.file_descriptor_proto().source_code_info.as_ref().expect("the descriptors include comments");
    let place = source.location.iter().find(|place| place.path == method.path()).expect("each call has a comment");
    let lines = place.leading_comments().lines().map(|line| line.strip_prefix(' ').unwrap_or(line));
    lines.collect::<Vec<_>>().join("\n")
}

fn pretty(json: &[u8]) -> String {
    serde_json::to_string_pretty(&serde_json::from_slice::<Value>(json).expect("JSON")).unwrap()
}

fn page(row: &Row, names: &Names) -> String {
    let (method, roles) = (json::method(row.path), listed(row));
    let (service, name) = (method.parent_service().name().to_owned(), method.name().to_owned());
    let who = if roles.platform { " (operator `platform` alone)" } else { "" };
    let mut request = pretty(&json::body(row.path, &(row.request)(names)));
    let record = Some(BASE64.encode(&names.record)).filter(|record| !record.is_empty());
    let link_key = Some(names.link_key.clone()).filter(|key| !key.is_empty());
    for (id, name) in [(Some(names.session.clone()), "SESSION_ID"), (record, "RECORD_HASH"), (link_key, "LINK_KEY")] {
        request = id.map_or(request.clone(), |id| request.replace(&id, name));
    }
    for change in names.changes {
        request = request.replace(&format!("\"{change}\""), "\"CHANGE_ID\"");
    }
    let url = format!("http://127.0.0.1:50080/v1/{service}/{name}");
    let call = match json::refused_by_name(row.path) {
        Some(_) => format!("gRPC only: `{}`. The message in JSON:\n\n```json\n{request}\n```\n", &row.path[1..]),
        None => format!(
            "```sh\ncurl -s {url} \\\n  -H \"authorization: Bearer $TOKEN\" -H 'content-type: application/json' \\\n  -d '{}'\n```\n",
            request.replace('\n', "\n  ")
        ),
    };
    let access = match is_open(row) {
        true => "No credential needed.".to_owned(),
        false => format!("Roles: {}{who}.", roles.roles),
    };
    format!("# {name}\n\n{}\n\n{access}\n\n## Request\n\n{call}", comment(&method).trim())
}

fn shorten(value: &mut Value) {
    match value {
        Value::String(text) if text.chars().count() > 200 => *text = text.chars().take(80).chain(['…']).collect(),
        Value::Array(values) => {
            if values.len() > 20 {
                values.truncate(3);
                values.push("…".into());
            }
            values.iter_mut().for_each(shorten);
        }
        Value::Object(fields) => fields.values_mut().for_each(shorten),
        _ => {}
    }
}

fn index() -> String {
    let mut text = "# Calls\n\nA page per call: effect, errors, roles, a request and its answer. [Calls and \
                    rules](../../../../proto/README.md) has the rules that hold for all of them.\n"
        .to_owned();
    let mut service = String::new();
    for row in ROWS {
        let method = json::method(row.path);
        if method.parent_service().name() != service {
            service = method.parent_service().name().to_owned();
            text += &format!("\n## {service}\n\n| call | roles |\n|---|---|\n");
        }
        let roles = if is_open(row) { "none".to_owned() } else { listed(row).roles.to_string() };
        text += &format!("| [{0}]({service}/{0}.md) | {roles} |\n", method.name());
    }
    text
}

fn check(row: &Row, page: &str, answer: Option<Value>) {
    let method = json::method(row.path);
    let file = folder().join(method.parent_service().name()).join(format!("{}.md", method.name()));
    if std::env::var_os(WRITE).is_some() {
        let answer = answer.as_ref().map(|answer| format!("{ANSWER}\n```json\n{answer:#}\n```\n"));
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, format!("{page}{}", answer.unwrap_or_default())).unwrap();
    }
    let stored = fs::read_to_string(&file).unwrap_or_default();
    let constant = stored.split(ANSWER).next().unwrap_or_default();
    assert!(constant == page, "{} is stale: run `just documents`", file.display());
    assert_eq!(stored.contains(ANSWER), answer.is_some(), "{}", file.display());
}

#[tokio::test(flavor = "multi_thread")]
async fn every_call_has_its_page_with_a_request_and_an_answer() {
    if seamless::is_on() {
        return;
    }
    let service = Service::start(Face::Json).await;
    let mut pages = BTreeSet::new();
    for (number, row) in ROWS.iter().enumerate() {
        let names = service.names(number, row).await;
        let page = page(row, &names);
        pages.insert(json::method(row.path).full_name().to_owned());
        if json::refused_by_name(row.path).is_some() {
            check(row, &page, None);
            continue;
        }
        if service.lacks(row.path) {
            continue;
        }
        let shown = format!("Bearer {}", owner(row));
        let body = json::body(row.path, &(row.request)(&names));
        let (code, mut answer) =
            json::raw(service.server.console(), row.path, &[("authorization", &shown)], body).await;
        assert_eq!(code, 200, "{}: {answer}", row.path);
        shorten(&mut answer);
        check(row, &page, Some(answer));
        seamless::settled(&account("acme", &names.player)).await;
        if row.path.ends_with("KeepSession") {
            service.has_ended_session(&names.player).await;
        }
        for change in waiting(&service).await {
            service.approve(change).await;
        }
    }
    let (file, text) = (folder().join("README.md"), index());
    if std::env::var_os(WRITE).is_some() {
        fs::write(&file, &text).unwrap();
    }
    assert!(fs::read_to_string(&file).unwrap_or_default() == text, "the index of calls is stale: run `just documents`");
    let mut found = 0;
    for service in fs::read_dir(folder()).unwrap().map(Result::unwrap).filter(|entry| entry.path().is_dir()) {
        found += fs::read_dir(service.path()).unwrap().count();
    }
    assert_eq!(found, pages.len(), "the folder has pages of calls that do not exist");
    service.server.stop().await.unwrap();
}
