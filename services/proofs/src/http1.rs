use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response, StatusCode, Uri, header};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use motherlode_runtime::{
    Stop,
    connections::{Admission, serve_http1},
};
use std::{convert::Infallible, io, sync::Arc, time::Duration};
use tokio::{
    net::{TcpListener, TcpStream},
    time::timeout,
};
use tower::service_fn;

const READ_MAX: Duration = Duration::from_secs(5);
const BODY_MAX: usize = 64 << 10;
const ANSWER_MAX: Duration = Duration::from_secs(10);

pub(crate) fn answer(status: StatusCode, media_type: &'static str, content: impl Into<Bytes>) -> Response<Full<Bytes>> {
    let mut answer = Response::new(Full::new(content.into()));
    *answer.status_mut() = status;
    answer.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    answer
}

pub(crate) fn plain(status: StatusCode, text: &str) -> Response<Full<Bytes>> {
    answer(status, "text/plain; charset=utf-8", format!("{text}\n"))
}

pub(crate) async fn serve<A>(listener: TcpListener, admission: Admission, stop: Stop, answerer: A)
where
    A: Fn(Method, String, Bytes) -> Response<Full<Bytes>> + Send + Sync + 'static,
{
    let answerer = Arc::new(answerer);
    let service = service_fn(move |request: Request<Incoming>| {
        let answerer = Arc::clone(&answerer);
        async move { Ok::<_, Infallible>(respond(request, answerer).await) }
    });
    serve_http1(listener, None, admission, service, stop).await;
}

async fn respond<A>(request: Request<Incoming>, answerer: Arc<A>) -> Response<Full<Bytes>>
where
    A: Fn(Method, String, Bytes) -> Response<Full<Bytes>> + Send + Sync + 'static,
{
    let (parts, body) = request.into_parts();
    let collected = match timeout(READ_MAX, Limited::new(body, BODY_MAX).collect()).await {
        Ok(Ok(body)) => body.to_bytes(),
        Ok(Err(_)) => return plain(StatusCode::PAYLOAD_TOO_LARGE, "the request's body is too long"),
        Err(_) => return plain(StatusCode::REQUEST_TIMEOUT, "the request's body did not arrive in time"),
    };
    let answered = tokio::task::spawn_blocking(move || answerer(parts.method, parts.uri.path().to_owned(), collected));
    answered.await.unwrap_or_else(|_| {
        plain(StatusCode::INTERNAL_SERVER_ERROR, "an internal error prevented an answer: see the service's log")
    })
}

pub(crate) async fn post(url: &str, body: String) -> io::Result<(StatusCode, String)> {
    let asked = async {
        let uri: Uri = url.parse().map_err(io::Error::other)?;
        let authority = uri.authority().ok_or_else(|| io::Error::other("the URL has no host"))?.clone();
        let stream = TcpStream::connect((authority.host(), authority.port_u16().unwrap_or(80))).await?;
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(io::Error::other)?;
        let path = uri.path_and_query().map_or("/", |path| path.as_str());
        let request = Request::post(path)
            .header(header::HOST, authority.as_str())
            .header(header::CONTENT_TYPE, "text/plain; charset=utf-8")
            .body(Full::new(Bytes::from(body)))
            .map_err(io::Error::other)?;
        let exchange = async {
            let answer = sender.send_request(request).await.map_err(io::Error::other)?;
            let status = answer.status();
            let body = Limited::new(answer.into_body(), BODY_MAX).collect().await.map_err(io::Error::other)?;
            Ok((status, String::from_utf8_lossy(&body.to_bytes()).into_owned()))
        };
        let mut exchange = std::pin::pin!(exchange);
        tokio::select! {
            answered = &mut exchange => answered,
            ended = connection => match ended {
                Ok(()) => exchange.await,
                Err(error) => Err(io::Error::other(error)),
            },
        }
    };
    timeout(ANSWER_MAX, asked).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}
