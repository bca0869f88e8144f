//! Exporters that count all failures, and log only the first of consecutive failures.

use opentelemetry::{KeyValue, global};
use opentelemetry_sdk::{
    Resource,
    error::OTelSdkResult,
    metrics::{Temporality, data::ResourceMetrics, exporter::PushMetricExporter},
    trace::{SpanData, SpanExporter},
};
use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

#[derive(Debug)]
pub(super) struct CountingExporter<E> {
    inner: E,
    signal: &'static str,
    fails: AtomicBool,
}

impl<E> CountingExporter<E> {
    pub(super) fn new(signal: &'static str, inner: E) -> Self {
        Self { inner, signal, fails: AtomicBool::new(false) }
    }

    fn note(&self, result: OTelSdkResult) -> OTelSdkResult {
        let failed_before = self.fails.swap(result.is_err(), Ordering::Relaxed);
        match &result {
            Ok(()) if failed_before => tracing::info!(signal = self.signal, "the export of telemetry works again"),
            Ok(()) => {}
            Err(error) => {
                count(self.signal, 1);
                if !failed_before {
                    tracing::warn!(signal = self.signal, %error, "failed to export telemetry; further failures are counted but not logged");
                }
            }
        }
        result
    }
}

pub(super) fn count(signal: &'static str, failed: u64) {
    let what = "Number of failed exports of telemetry to the collector.";
    let meter = global::meter("motherlode");
    let counter = meter.u64_counter("motherlode.telemetry.exports_failed").with_description(what).build();
    counter.add(failed, &[KeyValue::new("signal", signal)]);
}

impl<E: PushMetricExporter> PushMetricExporter for CountingExporter<E> {
    async fn export(&self, metrics: &ResourceMetrics) -> OTelSdkResult {
        self.note(self.inner.export(metrics).await)
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.inner.force_flush()
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.inner.shutdown_with_timeout(timeout)
    }

    fn temporality(&self) -> Temporality {
        self.inner.temporality()
    }
}

impl<E: SpanExporter> SpanExporter for CountingExporter<E> {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        self.note(self.inner.export(batch).await)
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.inner.shutdown_with_timeout(timeout)
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.inner.force_flush()
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.inner.set_resource(resource);
    }
}
