use bytes::{Buf as _, BufMut as _, Bytes};
use prost::DecodeError;
use tonic::{
    Status,
    codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder},
};

type Write<E> = fn(E, &mut EncodeBuf<'_>);
type Read<D> = fn(&mut DecodeBuf<'_>) -> Result<D, DecodeError>;

#[derive(Debug)]
pub struct FnCodec<E, D> {
    write: Write<E>,
    read: Read<D>,
}

impl<E, D> FnCodec<E, D> {
    pub(crate) fn new(write: Write<E>, read: Read<D>) -> Self {
        Self { write, read }
    }
}

#[must_use]
pub fn encoded() -> FnCodec<Bytes, Bytes> {
    FnCodec::new(|message, buffer| buffer.put(message), |buffer| Ok(whole(buffer)))
}

pub(crate) fn whole(buffer: &mut DecodeBuf<'_>) -> Bytes {
    buffer.copy_to_bytes(buffer.remaining())
}

impl<E: Send + 'static, D: Send + 'static> Codec for FnCodec<E, D> {
    type Encode = E;
    type Decode = D;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        Self { ..*self }
    }

    fn decoder(&mut self) -> Self {
        Self { ..*self }
    }
}

impl<E, D> Encoder for FnCodec<E, D> {
    type Item = E;
    type Error = Status;

    fn encode(&mut self, message: E, buffer: &mut EncodeBuf<'_>) -> Result<(), Status> {
        (self.write)(message, buffer);
        Ok(())
    }
}

impl<E, D> Decoder for FnCodec<E, D> {
    type Item = D;
    type Error = Status;

    fn decode(&mut self, buffer: &mut DecodeBuf<'_>) -> Result<Option<D>, Status> {
        (self.read)(buffer).map(Some).map_err(|error| Status::internal(error.to_string()))
    }
}
