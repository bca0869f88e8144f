//! The calls of one connection: counted while they are under way.

use super::{stream::Wire, table::Connection};
use bytes::Bytes;
use http::{Request, Response};
use http_body::{Body as _, Frame, SizeHint};
use hyper::body::Incoming;
use std::{
    convert::Infallible,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};
use tonic::{
    Status,
    body::Body,
    transport::server::{Connected, TcpConnectInfo, TlsConnectInfo},
};
use tower::{Service, ServiceExt};

/// A service, called over one connection.
pub(super) struct Calls<S> {
    service: S,
    connection: Arc<Connection>,
    info: Info,
}

/// The peer.
enum Info {
    Plain(TcpConnectInfo),
    Tls(TlsConnectInfo<TcpConnectInfo>),
}

impl<S> Calls<S> {
    pub(super) fn new(service: S, connection: Arc<Connection>, wire: &Wire) -> Self {
        let info = match wire {
            Wire::Plain(stream) => Info::Plain(stream.connect_info()),
            Wire::Tls(stream) => Info::Tls(stream.connect_info()),
        };
        Self { service, connection, info }
    }
}

impl<S> hyper::service::Service<Request<Incoming>> for Calls<S>
where
    S: Service<Request<Body>, Response = Response<Body>, Error = Infallible> + Clone + Send + 'static,
    S::Future: Send + 'static,
{
    type Response = Response<Counted>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        let mut request = request.map(Body::new);
        let extensions = request.extensions_mut();
        match &self.info {
            Info::Plain(info) => extensions.insert(info.clone()).is_some(),
            Info::Tls(info) => {
                extensions.insert(info.get_ref().clone());
                extensions.insert(info.clone()).is_some()
            }
        };
        extensions.insert(Arc::clone(&self.connection));
        let mut under_way = UnderWay::begin(Arc::clone(&self.connection));
        let answer = self.service.clone().oneshot(request);
        Box::pin(async move {
            let answer = answer.await?;
            Ok(answer.map(|body| {
                under_way.answered = body.is_end_stream();
                Counted { body, under_way }
            }))
        })
    }
}

/// A call, until its answer is sent or given up.
struct UnderWay {
    connection: Arc<Connection>,
    answered: bool,
}

impl UnderWay {
    fn begin(connection: Arc<Connection>) -> Self {
        connection.begin();
        Self { connection, answered: false }
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.connection.end(self.answered);
    }
}

/// An answer's body.
pub(super) struct Counted {
    body: Body,
    under_way: UnderWay,
}

impl http_body::Body for Counted {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        self.under_way.answered |= match &frame {
            Some(Ok(frame)) => frame.is_trailers(),
            Some(Err(_)) | None => true,
        };
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
