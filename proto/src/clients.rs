use crate::{
    codec::{FnCodec, encoded, whole},
    wire::Wire,
};
use bytes::{BufMut as _, Bytes};
use prost::Message;
use std::{
    marker::PhantomData,
    pin::Pin,
    task::{Context, Poll, ready},
};
use tonic::{
    IntoStreamingRequest, Request, Response, Status, Streaming,
    body::Body,
    client::{Grpc, GrpcService},
    codegen::{Body as HttpBody, StdError, http::uri::PathAndQuery},
};
use tonic_prost::ProstCodec;

pub type Pending<'a, A> = Pin<Box<dyn Future<Output = Result<Response<A>, Status>> + Send + 'a>>;

#[derive(Debug, Clone)]
pub struct Client<T>(Grpc<T>);

impl<T> Client<T> {
    pub fn new(connection: T) -> Self
    where
        T: GrpcService<Body>,
    {
        Self(Grpc::new(connection))
    }

    /// Sets the maximum length of an answer; the default is 4 MiB.
    #[must_use]
    pub fn max_decoding_message_size(self, bytes: usize) -> Self {
        Self(self.0.max_decoding_message_size(bytes))
    }
}

impl<T> Client<T>
where
    T: GrpcService<Body> + Send,
    T::Error: Into<StdError>,
    T::Future: Send,
    T::ResponseBody: HttpBody<Data = Bytes> + Send + 'static,
    <T::ResponseBody as HttpBody>::Error: Into<StdError> + Send,
{
    pub fn unary<M: Wire, R: Wire>(&mut self, request: Request<M>, path: &'static str) -> Answering<'_, R> {
        let answer = self.answer(request.map(|message| message.written()), path);
        Answering { answer, message: PhantomData }
    }

    fn answer(&mut self, request: Request<Bytes>, path: &'static str) -> Pending<'_, Bytes> {
        Box::pin(async move {
            self.ready().await?;
            self.0.unary(request, PathAndQuery::from_static(path), encoded()).await
        })
    }

    pub fn server_streaming<M: Wire, R: Wire>(
        &mut self,
        request: Request<M>,
        path: &'static str,
    ) -> Pending<'_, Streaming<R>> {
        let request = request.map(|message| message.written());
        let codec = FnCodec::<Bytes, R>::new(|message, buffer| buffer.put(message), |buffer| R::read(&whole(buffer)));
        Box::pin(async move {
            self.ready().await?;
            self.0.server_streaming(request, PathAndQuery::from_static(path), codec).await
        })
    }

    pub fn streaming<S, M, R>(&mut self, requests: S, path: &'static str) -> Pending<'_, Streaming<R>>
    where
        S: IntoStreamingRequest<Message = M>,
        M: Message + 'static,
        R: Message + Default + 'static,
    {
        let requests = requests.into_streaming_request();
        Box::pin(async move {
            self.ready().await?;
            self.0.streaming(requests, PathAndQuery::from_static(path), ProstCodec::default()).await
        })
    }

    async fn ready(&mut self) -> Result<(), Status> {
        let ready = self.0.ready().await;
        ready.map_err(|error| Status::unknown(format!("Service was not ready: {}", error.into())))
    }
}

#[must_use = "a call is sent only when it is awaited"]
pub struct Answering<'a, R> {
    answer: Pending<'a, Bytes>,
    message: PhantomData<fn() -> R>,
}

impl<R: Wire> Future for Answering<'_, R> {
    type Output = Result<Response<R>, Status>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let (metadata, bytes, extensions) = ready!(self.answer.as_mut().poll(context))?.into_parts();
        let message = R::read(&bytes).map_err(|error| Status::internal(error.to_string()))?;
        Poll::Ready(Ok(Response::from_parts(metadata, message, extensions)))
    }
}

macro_rules! called {
    ($client:ident, $name:literal, $($kind:ident $method:ident $path:literal $request:path => $answer:path;)+) => {
        #[doc = concat!("Calls `", $name, "`.")]
        #[derive(Debug, Clone)]
        pub struct $client<T>($crate::clients::Client<T>);

        impl $client<tonic::transport::Channel> {
            /// Connects to a URL such as `http://127.0.0.1:50051`.
            pub async fn connect(address: impl Into<bytes::Bytes>) -> Result<Self, tonic::transport::Error> {
                Ok(Self::new(tonic::transport::Endpoint::from_shared(address)?.connect().await?))
            }
        }

        impl<T> $client<T>
        where
            T: tonic::client::GrpcService<tonic::body::Body> + Send,
            T::Error: Into<tonic::codegen::StdError>,
            T::Future: Send,
            T::ResponseBody: tonic::codegen::Body<Data = bytes::Bytes> + Send + 'static,
            <T::ResponseBody as tonic::codegen::Body>::Error: Into<tonic::codegen::StdError> + Send,
        {
            pub fn new(connection: T) -> Self {
                Self($crate::clients::Client::new(connection))
            }

            #[must_use]
            pub fn max_decoding_message_size(self, bytes: usize) -> Self {
                Self(self.0.max_decoding_message_size(bytes))
            }

            $($crate::clients::method!($kind $method $path $request => $answer);)+
        }
    };
}

macro_rules! method {
    (unary $method:ident $path:literal $request:path => $answer:path) => {
        pub fn $method(
            &mut self,
            request: impl tonic::IntoRequest<$request>,
        ) -> $crate::clients::Answering<'_, $answer> {
            self.0.unary(request.into_request(), $path)
        }
    };
    (server_streaming $method:ident $path:literal $request:path => $answer:path) => {
        pub fn $method(
            &mut self,
            request: impl tonic::IntoRequest<$request>,
        ) -> $crate::clients::Pending<'_, tonic::Streaming<$answer>> {
            self.0.server_streaming(request.into_request(), $path)
        }
    };
    (streaming $method:ident $path:literal $request:path => $answer:path) => {
        pub fn $method(
            &mut self,
            requests: impl tonic::IntoStreamingRequest<Message = $request>,
        ) -> $crate::clients::Pending<'_, tonic::Streaming<$answer>> {
            self.0.streaming(requests, $path)
        }
    };
}

pub(crate) use {called, method};
