//! Propagates traces with `traceparent` (W3C Trace Context, level 1).

use opentelemetry::{
    Context,
    trace::{SpanContext, SpanId, TraceContextExt, TraceFlags, TraceId, TraceState},
};
use tracing::Span;
use tracing_opentelemetry::OpenTelemetrySpanExt;

pub const TRACEPARENT: &str = "traceparent";

#[must_use]
pub fn traceparent() -> Option<String> {
    let context = Span::current().context();
    let span = context.span();
    let span = span.span_context();
    span.is_valid().then(|| format!("00-{}-{}-{:02x}", span.trace_id(), span.span_id(), span.trace_flags().to_u8()))
}

/// Makes `span` a child of a span in another process; a malformed `traceparent` is ignored.
pub fn join(span: &Span, traceparent: &str) {
    if let Some(parent) = parse(traceparent) {
        let _ = span.set_parent(Context::new().with_remote_span_context(parent));
    }
}

fn parse(traceparent: &str) -> Option<SpanContext> {
    let mut parts = traceparent.split('-');
    let (version, trace, span, flags) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    let hex = |part: &str, length: usize| {
        part.len() == length && part.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'))
    };
    let known = hex(version, 2) && version != "ff" && (version != "00" || parts.next().is_none());
    if !known || !hex(trace, 32) || !hex(span, 16) || !hex(flags, 2) {
        return None;
    }
    let flags = TraceFlags::new(u8::from_str_radix(flags, 16).ok()?);
    let (trace, span) = (TraceId::from_hex(trace).ok()?, SpanId::from_hex(span).ok()?);
    let parent = SpanContext::new(trace, span, flags, true, TraceState::default());
    parent.is_valid().then_some(parent)
}

#[cfg(test)]
mod tests {
    use super::*;
    use opentelemetry::trace::TracerProvider;
    use opentelemetry_sdk::trace::SdkTracerProvider;
    use tracing_subscriber::layer::SubscriberExt;

    const EXAMPLE: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[test]
    fn a_span_goes_on_with_the_trace_of_its_caller_and_names_itself_to_the_next() {
        assert_eq!(traceparent(), None, "no trace is active");
        let provider = SdkTracerProvider::builder().build();
        let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("test"));
        tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), || {
            let span = tracing::info_span!("call");
            join(&span, EXAMPLE);
            let said = span.in_scope(traceparent).unwrap();
            assert_eq!(said[..35], EXAMPLE[..35], "the same trace");
            assert_ne!(said[36..52], EXAMPLE[36..52], "another span");
            assert_eq!(said[52..], EXAMPLE[52..], "the caller's sampling decision");
        });
    }

    #[test]
    fn what_is_no_traceparent_is_not_taken_for_one() {
        assert!(parse(EXAMPLE).is_some());
        for wrong in [
            "",
            "00",
            &EXAMPLE[..54],
            &EXAMPLE.replace("00-4", "ff-4"),
            &EXAMPLE.to_uppercase(),
            &format!("{EXAMPLE}-00"),
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
        ] {
            assert!(parse(wrong).is_none(), "{wrong}");
        }
        assert!(parse(&EXAMPLE.replace("00-4", "01-4")).is_some(), "later versions start with the same fields");
    }
}
