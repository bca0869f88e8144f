use crate::error::ServeError;
use motherlode_proto::FILE_DESCRIPTOR_SET;
use motherlode_runtime::{
    Config, Operators,
    buffers::Buffers,
    config::Tls,
    connections::{Acceptor, Admission, Bounds, acceptor, descriptors},
};
use prost::Message;
use prost_types::FileDescriptorSet;
use std::{fs, path::Path};

/// Paths of the reflection calls, which receive a stream of requests.
const REFLECTION: [&str; 2] = [
    "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
    "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
];

/// Client certificates are optional, because tokens also authenticate callers.
pub(crate) fn tls(files: &Tls) -> Result<Acceptor, ServeError> {
    made(files, files.client_ca.as_deref(), b"h2")
}

pub(crate) fn console_tls(files: &Tls) -> Result<Acceptor, ServeError> {
    made(files, None, b"http/1.1")
}

fn made(files: &Tls, client_ca: Option<&Path>, protocol: &[u8]) -> Result<Acceptor, ServeError> {
    let read = |path: &Path| fs::read(path).map_err(|source| ServeError::Tls { file: path.to_owned(), source });
    let Tls { certificate, key, .. } = files;
    let roots = client_ca.map(read).transpose()?;
    acceptor(&read(certificate)?, &read(key)?, roots.as_deref(), protocol).map_err(|source| ServeError::TlsUnusable {
        certificate: certificate.clone(),
        key: key.clone(),
        source,
    })
}

pub(crate) fn admission(config: &Config, operators: Operators) -> Admission {
    Admission::new(Bounds { operators, ..Bounds::for_limits(&config.limits, descriptors()) })
}

pub(crate) fn buffers(config: &Config) -> Buffers {
    Buffers::new(config, streams())
}

fn streams() -> Vec<String> {
    let described = FileDescriptorSet::decode(FILE_DESCRIPTOR_SET).unwrap_or_default();
    let mut streams: Vec<_> = REFLECTION.map(str::to_owned).into();
    for file in &described.file {
        for service in &file.service {
            let streaming = service.method.iter().filter(|method| method.client_streaming());
            streams.extend(streaming.map(|method| format!("/{}.{}/{}", file.package(), service.name(), method.name())));
        }
    }
    streams
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uf_02_calls_with_many_messages_are_known() {
        let streams = streams();
        for path in ["/motherlode.spin.v1.SpinService/PlayStream", "/motherlode.log.v1.LogService/Propose"] {
            assert!(streams.iter().any(|stream| stream == path), "{path}");
        }
        assert!(!streams.iter().any(|stream| stream == "/motherlode.spin.v1.SpinService/Spin"));
    }
}
