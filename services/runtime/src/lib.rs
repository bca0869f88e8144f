//! What every service needs and none owns: configuration, refusals as gRPC statuses, telemetry, the stop signal.

pub mod config;
pub mod refusal;
pub mod stop;
pub mod telemetry;

pub use config::Config;
pub use refusal::Refusal;
pub use stop::Stop;
