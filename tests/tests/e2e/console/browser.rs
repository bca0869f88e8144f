use std::{collections::BTreeMap, net::SocketAddr};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

#[derive(Debug, Clone)]
pub(crate) struct Page {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Page {
    pub(crate) fn header(&self, name: &str) -> &str {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map_or("", |(_, value)| value)
    }

    pub(crate) fn hidden(&self, action: &str, name: &str) -> Option<String> {
        let form = self.body.split("<form").find(|form| form.contains(&format!("action=\"{action}\"")))?;
        let field = form.split("<input").find(|field| field.contains(&format!("name=\"{name}\"")))?;
        Some(field.split_once("value=\"")?.1.split_once('"')?.0.to_owned())
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Browser {
    pub(crate) address: SocketAddr,
    pub(crate) cookie: Option<String>,
}

impl Browser {
    pub(crate) fn new(address: SocketAddr) -> Self {
        Self { address, cookie: None }
    }

    pub(crate) async fn logged_in(address: SocketAddr, token: &str) -> Self {
        let mut browser = Self::new(address);
        let page = browser.post("/login", &[("token", token)]).await;
        assert_eq!((page.status, page.header("location")), (303, "/"), "log-in with {token} failed: {}", page.body);
        browser
    }

    pub(crate) async fn get(&mut self, path: &str) -> Page {
        self.ask("GET", path, &[], "").await
    }

    pub(crate) async fn post(&mut self, path: &str, fields: &[(&str, &str)]) -> Page {
        self.ask("POST", path, &[("content-type", "application/x-www-form-urlencoded")], &encoded(fields)).await
    }

    pub(crate) async fn submit(&mut self, page: &Page, action: &str, fields: &[(&str, &str)]) -> Page {
        let word =
            page.hidden(action, "word").unwrap_or_else(|| panic!("the page has no form for {action}: {}", page.body));
        let id = page.hidden(action, "request").unwrap_or_default();
        let fields: Vec<_> =
            [("word", word.as_str()), ("request", id.as_str())].into_iter().chain(fields.iter().copied()).collect();
        self.post(action, &fields).await
    }

    pub(crate) async fn ask(&mut self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Page {
        let mut all = BTreeMap::from([("host", self.address.to_string()), ("connection", "close".to_owned())]);
        all.extend(self.cookie.iter().map(|cookie| ("cookie", cookie.clone())));
        all.insert("content-length", body.len().to_string());
        all.retain(|name, _| headers.iter().all(|(own, _)| own != name));
        let own = headers.iter().copied();
        let all = all.iter().map(|(name, value)| (*name, value.as_str())).chain(own);
        let headers: String = all.map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream.write_all(format!("{method} {path} HTTP/1.1\r\n{headers}\r\n{body}").as_bytes()).await.unwrap();
        let mut answer = vec![];
        stream.read_to_end(&mut answer).await.unwrap();
        let page = read(&String::from_utf8_lossy(&answer));
        if let Some((cookie, _)) = page.header("set-cookie").split_once(';') {
            self.cookie = Some(cookie.to_owned());
        }
        page
    }
}

fn encoded(fields: &[(&str, &str)]) -> String {
    let byte = |byte: u8| match byte {
        byte if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    };
    let text = |text: &str| text.bytes().map(byte).collect::<String>();
    fields.iter().map(|(name, value)| format!("{}={}", text(name), text(value))).collect::<Vec<_>>().join("&")
}

fn read(answer: &str) -> Page {
    let (head, body) = answer.split_once("\r\n\r\n").expect("an answer has headers");
    let mut lines = head.lines();
    let status = lines.next().and_then(|line| line.split(' ').nth(1)?.parse().ok()).expect("an answer has a status");
    let headers: Vec<_> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
        .collect();
    Page { status, headers, body: body.to_owned() }
}

const VOID: [&str; 8] = ["area", "br", "col", "hr", "img", "input", "link", "meta"];

pub(crate) fn assert_well_formed(page: &str) {
    let page = page.strip_prefix("<!DOCTYPE html>").expect("a page begins with its document type");
    let (mut open, mut ids) = (vec![], std::collections::BTreeSet::new());
    for part in page.split('<').skip(1) {
        let (tag, _) = part.split_once('>').unwrap_or_else(|| panic!("an unclosed tag: {part}"));
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(
                open.pop(),
                Some(name.to_owned()),
                "a closing tag does not match the last opened tag, at {part}"
            );
            continue;
        }
        let name: String = tag.chars().take_while(|letter| letter.is_ascii_alphanumeric()).collect();
        assert!(!name.is_empty(), "invalid markup: {part}");
        let attributes: String = tag.split('"').step_by(2).collect();
        assert!(
            !attributes.contains(" style=") && !attributes.contains(" on"),
            "the content security policy forbids inline styles and handlers: {tag}"
        );
        if let Some((_, id)) = tag.split_once(" id=\"") {
            let id = id.split('"').next().unwrap_or_default();
            assert!(ids.insert(id.to_owned()), "the id {id} occurs twice");
        }
        if !tag.ends_with('/') && !VOID.contains(&name.as_str()) {
            open.push(name);
        }
    }
    assert_eq!(open, Vec::<String>::new(), "tags are not closed");
}
