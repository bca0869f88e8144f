use crate::{
    api::Api,
    app::App,
    failure::{Failure, RefusedForm},
    fields::Fields,
    sessions::{Session, Who, is_word},
};
use axum::{
    extract::{FromRequest, FromRequestParts, Request},
    response::Redirect,
};
use http::{HeaderMap, Method, header, request::Parts};
use http_body_util::{BodyExt, Limited};
use motherlode_runtime::{config::PLATFORM, connections::Peer};
use std::{sync::Arc, time::Duration};
use tonic::{Code, Status};

/// Name of the session cookie without TLS. With TLS the name has the prefix `__Host-`. A browser then accepts the
/// cookie only from this host, over TLS and for all paths.
const COOKIE: &str = "motherlode_console";
const SECURE_COOKIE: &str = "__Host-motherlode_console";
pub(crate) const OF_PARTS: &str = "/live/";
const FORM_MAX: usize = 16 << 10;
const FORM_WAIT: Duration = Duration::from_secs(5);

pub(crate) struct Visit {
    pub(crate) api: Api,
    pub(crate) session: Session,
    pub(crate) path: String,
    pub(crate) asked: String,
    pub(crate) query: Fields,
    pub(crate) app: App,
}

impl Visit {
    pub(crate) fn who(&self) -> &Arc<Who> {
        &self.session.who
    }

    pub(crate) fn owns(&self, operator: &str) -> bool {
        let own = self.who().operator.as_str();
        own.is_empty() || own == operator
    }

    /// Returns whether the credential may see all operators: it is a platform credential, or no operators are
    /// configured.
    pub(crate) fn sees_all(&self) -> bool {
        self.owns(PLATFORM)
    }

    pub(crate) fn may(&self, method: &str) -> bool {
        self.session.who.may(method)
    }
}

impl FromRequestParts<App> for Visit {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Failure> {
        let path = parts.uri.path().to_owned();
        let asked = parts.uri.path_and_query().map_or("/", |asked| asked.as_str());
        let of_part = path.starts_with(OF_PARTS);
        let next = if parts.method == Method::GET && !of_part { asked } else { "" };
        let logged_out = || Failure::LoggedOut(next.to_owned());
        let session = cookie(app, &parts.headers)
            .and_then(|id| if of_part { app.sessions.look(id) } else { app.sessions.find(id) })
            .ok_or_else(logged_out)?;
        // The connection counts towards the operator's limit, like a gRPC connection.
        if let Some(connection) = parts.extensions.get::<Arc<Peer>>().and_then(|peer| peer.connection()) {
            connection.belongs_to(session.who.holder()).map_err(|refusal| Failure::from(Status::from(refusal)))?;
        }
        let api = Api::new(app.backend.clone(), session.token.as_deref()).ok_or_else(logged_out)?;
        let query = Fields::parse(parts.uri.query().unwrap_or("").as_bytes());
        Ok(Self { api, session, path, asked: asked.to_owned(), query, app: Arc::clone(app) })
    }
}

pub(crate) struct Form {
    pub(crate) visit: Visit,
    pub(crate) fields: Fields,
}

impl Form {
    pub(crate) fn done(&self, page: &str, notice: impl Into<String>) -> Redirect {
        self.visit.session.notify(notice);
        Redirect::to(page)
    }

    pub(crate) fn refused(&self, failure: impl Into<Failure>) -> Failure {
        const IN_VAIN: [Code; 3] = [Code::Unauthenticated, Code::PermissionDenied, Code::NotFound];
        let (code, why) = match failure.into() {
            Failure::Refused(status) if !IN_VAIN.contains(&status.code()) => (None, status),
            Failure::Said(code, why) => (Some(code), Box::new(Status::invalid_argument(why))),
            other => return other,
        };
        let (action, fields) = (self.visit.path.clone(), self.fields.clone());
        Failure::Form(Box::new(RefusedForm { code, why, action, fields }))
    }
}

impl FromRequest<App> for Form {
    type Rejection = Failure;

    async fn from_request(request: Request, app: &App) -> Result<Self, Failure> {
        let (mut parts, body) = request.into_parts();
        let visit = Visit::from_request_parts(&mut parts, app).await?;
        let fields = filled_in(body).await?;
        match is_word(&visit.session, fields.get("word")) {
            true => Ok(Self { visit, fields }),
            false => Err(Failure::forbidden("This form does not belong to your session. Reload its page.")),
        }
    }
}

pub(crate) async fn filled_in(body: axum::body::Body) -> Result<Fields, Failure> {
    match tokio::time::timeout(FORM_WAIT, Limited::new(body, FORM_MAX).collect()).await {
        Ok(Ok(body)) => Ok(Fields::parse(&body.to_bytes())),
        Ok(Err(_)) => {
            Err(Failure::Said(http::StatusCode::PAYLOAD_TOO_LARGE, "The form is longer than the console accepts."))
        }
        Err(_) => {
            Err(Failure::Said(http::StatusCode::REQUEST_TIMEOUT, "The service did not receive the whole form in time."))
        }
    }
}

pub(crate) fn cookie_name(app: &App) -> &'static str {
    if app.secure { SECURE_COOKIE } else { COOKIE }
}

pub(crate) fn cookie<'a>(app: &App, headers: &'a HeaderMap) -> Option<&'a str> {
    let cookies = headers.get_all(header::COOKIE).iter().filter_map(|cookies| cookies.to_str().ok());
    let mut pairs = cookies.flat_map(|cookies| cookies.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(name, _)| *name == cookie_name(app)).map(|(_, value)| value)
}
