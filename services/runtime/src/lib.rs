//! What every service needs and none owns: configuration, refusals as gRPC statuses, telemetry, the stop signal.

pub mod config;
pub mod jurisdiction;
pub mod refusal;
pub mod stop;
pub mod telemetry;

pub use config::{Config, ConfigError, Interruption};
pub use jurisdiction::{Profiles, UNRESTRICTED};
pub use refusal::Refusal;
pub use stop::Stop;
