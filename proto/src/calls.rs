//! Server side of the gRPC services. Streams of requests are decoded by prost's codec, except PlayStream, which has its
//! own codec.

use std::{
    convert::Infallible,
    fmt,
    future::Future,
    sync::Arc,
    task::{Context, Poll},
};

use crate::{
    codec::encoded,
    play_stream::{StreamAnswers, codec as play_stream_codec},
    spin::v1::PlayStreamRequest,
    wire::{RequestOf, Wire},
};
use bytes::Bytes;
use prost::Message;
use tonic::{
    Code, Request, Response, Status, Streaming,
    body::Body,
    codec::Codec,
    codegen::{
        BoxFuture, BoxStream, Service, http,
        tokio_stream::{Stream, StreamExt as _},
    },
    server::{Grpc, NamedService},
};
use tonic_prost::ProstCodec;

type Answer = BoxFuture<http::Response<Body>, Infallible>;

type Streamed<T, M, F> = fn(Arc<T>, Request<Streaming<M>>) -> F;

struct Serving<T> {
    service: Arc<T>,
    request_bytes_max: usize,
}

impl<T> Clone for Serving<T> {
    fn clone(&self) -> Self {
        Self { service: Arc::clone(&self.service), request_bytes_max: self.request_bytes_max }
    }
}

impl<T: Send + Sync + 'static> Serving<T> {
    fn unary<M, R, F>(&self, request: http::Request<Body>, call: fn(Arc<T>, Request<M>) -> F) -> Answer
    where
        M: Wire,
        R: Wire,
        F: Future<Output = Result<Response<R>, Status>> + Send + 'static,
    {
        let service = Arc::clone(&self.service);
        let call = Call::new(move |request| {
            let service = Arc::clone(&service);
            Box::pin(async move {
                let answer = call(service, decoded(request)?).await?;
                Ok(answer.map(|answer| answer.written()))
            })
        });
        unary(call, request, self.request_bytes_max)
    }

    fn server_streaming<M, R, S, F>(&self, request: http::Request<Body>, call: fn(Arc<T>, Request<M>) -> F) -> Answer
    where
        M: Wire,
        R: Wire,
        S: Stream<Item = Result<R, Status>> + Send + 'static,
        F: Future<Output = Result<Response<S>, Status>> + Send + 'static,
    {
        let service = Arc::clone(&self.service);
        let call = Call::new(move |request| {
            let service = Arc::clone(&service);
            Box::pin(async move {
                let answers = call(service, decoded(request)?).await?;
                Ok(answers.map(|answers| -> BoxStream<Bytes> { Box::pin(answers.map(|answer| Ok(answer?.written()))) }))
            })
        });
        server_streaming(call, request, self.request_bytes_max)
    }

    fn streaming<M, R, S, F>(&self, request: http::Request<Body>, call: Streamed<T, M, F>) -> Answer
    where
        M: Message + Default + 'static,
        R: Message + 'static,
        S: Stream<Item = Result<R, Status>> + Send + 'static,
        F: Future<Output = Result<Response<S>, Status>> + Send + 'static,
    {
        self.streaming_by(ProstCodec::<R, M>::default(), request, call)
    }

    fn play_stream<F>(&self, request: http::Request<Body>, call: Streamed<T, PlayStreamRequest, F>) -> Answer
    where
        F: Future<Output = Result<Response<StreamAnswers>, Status>> + Send + 'static,
    {
        self.streaming_by(play_stream_codec(), request, call)
    }

    fn streaming_by<C, S, F>(&self, codec: C, request: http::Request<Body>, call: Streamed<T, C::Decode, F>) -> Answer
    where
        C: Codec + Send + 'static,
        S: Stream<Item = Result<C::Encode, Status>> + Send + 'static,
        F: Future<Output = Result<Response<S>, Status>> + Send + 'static,
    {
        let service = Arc::clone(&self.service);
        let call = Call::new(move |request| Box::pin(call(Arc::clone(&service), request)));
        let mut grpc = Grpc::new(codec).apply_max_message_size_config(Some(self.request_bytes_max), None);
        Box::pin(async move { Ok(grpc.streaming(call, request).await) })
    }
}

fn unary(call: Call<Bytes, Response<Bytes>>, request: http::Request<Body>, request_bytes_max: usize) -> Answer {
    let mut grpc = Grpc::new(encoded()).apply_max_message_size_config(Some(request_bytes_max), None);
    Box::pin(async move { Ok(grpc.unary(call, request).await) })
}

fn server_streaming(
    call: Call<Bytes, Response<BoxStream<Bytes>>>,
    request: http::Request<Body>,
    request_bytes_max: usize,
) -> Answer {
    let mut grpc = Grpc::new(encoded()).apply_max_message_size_config(Some(request_bytes_max), None);
    Box::pin(async move { Ok(grpc.server_streaming(call, request).await) })
}

fn unimplemented() -> Answer {
    Box::pin(async { Ok(Status::new(Code::Unimplemented, "").into_http()) })
}

struct Call<M, A>(Box<dyn FnMut(Request<M>) -> BoxFuture<A, Status> + Send>);

impl<M, A> Call<M, A> {
    fn new(call: impl FnMut(Request<M>) -> BoxFuture<A, Status> + Send + 'static) -> Self {
        Self(Box::new(call))
    }
}

impl<M, A> Service<Request<M>> for Call<M, A> {
    type Response = A;
    type Error = Status;
    type Future = BoxFuture<A, Status>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Status>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<M>) -> Self::Future {
        (self.0)(request)
    }
}

fn decoded<M: Wire>(request: Request<Bytes>) -> Result<Request<M>, Status> {
    let (metadata, extensions, bytes) = request.into_parts();
    if let Some(request) = extensions.get::<RequestOf>() {
        request.set::<M>(bytes.clone());
    }
    // tonic's codec also returns INTERNAL: <https://grpc.github.io/grpc/core/md_doc_statuscodes.html>.
    let message = M::read(&bytes).map_err(|error| Status::internal(error.to_string()))?;
    Ok(Request::from_parts(metadata, extensions, message))
}

macro_rules! served {
    ([$($service:path),+], $calls:ident, $name:literal, $($path:literal $kind:ident $method:ident)+) => {
        #[doc = concat!("Serves `", $name, "`.")]
        pub struct $calls<T>(Serving<T>);

        impl<T> $calls<T> {
            /// A request of more than `request_bytes_max` bytes is refused with OUT_OF_RANGE.
            #[must_use]
            pub fn new(service: T, request_bytes_max: usize) -> Self {
                Self(Serving { service: Arc::new(service), request_bytes_max })
            }
        }

        impl<T> Clone for $calls<T> {
            fn clone(&self) -> Self {
                Self(self.0.clone())
            }
        }

        impl<T> fmt::Debug for $calls<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(stringify!($calls))
            }
        }

        impl<T> NamedService for $calls<T> {
            const NAME: &'static str = $name;
        }

        impl<T: $($service +)+> Service<http::Request<Body>> for $calls<T> {
            type Response = http::Response<Body>;
            type Error = Infallible;
            type Future = Answer;

            fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
                Poll::Ready(Ok(()))
            }

            fn call(&mut self, request: http::Request<Body>) -> Answer {
                match request.uri().path() {
                    $($path => self.0.$kind(request, |service, request| async move { service.$method(request).await }),)+
                    _ => unimplemented(),
                }
            }
        }
    };
}

include!(concat!(env!("OUT_DIR"), "/calls.rs"));
