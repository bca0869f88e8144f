//! Configuration, access, refusals and telemetry of all services.

pub mod access;
mod appends;
pub mod buffers;
pub mod certificate;
mod clock;
pub mod config;
pub mod connect;
pub mod connections;
pub mod json;
pub mod jurisdiction;
pub mod memory;
mod operators;
mod priority;
pub mod process;
pub mod program;
mod reads;
pub mod reason;
pub mod refusal;
pub mod refusals;
mod roles;
pub mod roots;
pub mod stop;
pub mod telemetry;
pub mod trace;
pub mod until;

pub use access::Caller;
pub use appends::Appends;
pub use clock::Clock;
pub use config::{Config, ConfigError, Interruption};
pub use jurisdiction::{Profiles, UNRESTRICTED};
pub use operators::Operators;
pub use priority::{apart, lower_priority, lowest_priority};
pub use reads::Reads;
pub use reason::Reason;
pub use refusal::Refusal;
pub use stop::Stop;
