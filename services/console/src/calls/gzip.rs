use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use flate2::{Compression, read::GzDecoder, write::GzEncoder};
use http::{HeaderMap, HeaderValue, header};
use motherlode_runtime::{Reason, Refusal};
use std::io::{Read as _, Write as _};

const BYTES_MIN: usize = 1_024;

pub(super) fn is_packed(headers: &HeaderMap) -> Result<bool, Refusal> {
    let mut codings = headers.get_all(header::CONTENT_ENCODING).iter().map(HeaderValue::as_bytes);
    match (codings.next(), codings.next()) {
        (None, _) => Ok(false),
        (Some(coding), None) if coding.eq_ignore_ascii_case(b"identity") => Ok(false),
        (Some(coding), None) if coding.eq_ignore_ascii_case(b"gzip") => Ok(true),
        _ => Err(Refusal::new(Reason::ContentTypeUnknown, "the only supported content encoding of a body is gzip")),
    }
}

pub(super) fn unpacked(packed: &[u8], bytes_max: usize) -> Result<Bytes, Refusal> {
    let mut bytes = vec![];
    let read = GzDecoder::new(packed).take(bytes_max as u64 + 1).read_to_end(&mut bytes);
    match read {
        Ok(length) if length > bytes_max => Err(too_long(bytes_max)),
        Ok(_) => Ok(bytes.into()),
        Err(_) => Err(Refusal::new(Reason::MessageMalformed, "the body is not valid gzip")),
    }
}

pub(super) fn too_long(bytes_max: usize) -> Refusal {
    Refusal::new(Reason::MessageTooLong, format!("a JSON message may have at most {bytes_max} bytes"))
}

pub(crate) fn is_accepted(headers: &HeaderMap) -> bool {
    let values = headers.get_all(header::ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).any(|coding| {
        let mut parts = coding.split(';').map(str::trim);
        let named = parts.next().is_some_and(|name| name.eq_ignore_ascii_case("gzip"));
        let quality = parts.find_map(|part| part.strip_prefix("q=")).map_or(Ok(1.0), str::parse::<f32>);
        named && quality.is_ok_and(|quality| quality > 0.0)
    })
}

pub(super) fn answer(text: Vec<u8>, accepted: bool) -> Response {
    let packed = (accepted && text.len() >= BYTES_MIN).then(|| packed(&text)).flatten();
    let json = [(header::CONTENT_TYPE, "application/json"), (header::VARY, "accept-encoding")];
    match packed {
        Some(packed) => (json, [(header::CONTENT_ENCODING, "gzip")], packed).into_response(),
        None => (json, text).into_response(),
    }
}

pub(crate) fn packed(text: &[u8]) -> Option<Vec<u8>> {
    let mut encoder = GzEncoder::new(vec![], Compression::fast());
    encoder.write_all(text).and_then(|()| encoder.finish()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pl_12_a_compressed_message_is_bounded_after_decompression() {
        let zeros = packed(&vec![b' '; 1 << 20]).unwrap();
        assert!(zeros.len() < 8_192, "{}", zeros.len());
        assert_eq!(unpacked(&zeros, 1 << 20).unwrap().len(), 1 << 20);
        assert_eq!(unpacked(&zeros, (1 << 20) - 1).unwrap_err().reason(), Reason::MessageTooLong);
        assert_eq!(unpacked(b"{}", 10).unwrap_err().reason(), Reason::MessageMalformed);
        assert_eq!(unpacked(&zeros[..zeros.len() / 2], 1 << 21).unwrap_err().reason(), Reason::MessageMalformed);
    }

    #[test]
    fn an_encoding_is_taken_by_its_name_and_its_quality() {
        let headers = |name: header::HeaderName, value: &'static str| {
            HeaderMap::from_iter([(name, HeaderValue::from_static(value))])
        };
        for (value, accepted) in
            [("gzip", true), ("br, GZIP;q=0.5", true), ("gzip; q=0", false), ("br", false), ("gzip;q=x", false)]
        {
            assert_eq!(is_accepted(&headers(header::ACCEPT_ENCODING, value)), accepted, "{value}");
        }
        assert!(!is_accepted(&HeaderMap::new()));
        assert!(!is_packed(&HeaderMap::new()).unwrap());
        assert!(is_packed(&headers(header::CONTENT_ENCODING, "gzip")).unwrap());
        assert!(is_packed(&headers(header::CONTENT_ENCODING, "br")).is_err());
    }
}
