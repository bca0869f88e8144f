//! What the fuzz targets share: the golden logs, messages made from the contract, and a service in this process.

pub mod golden;
pub mod message;
pub mod service;
pub mod story;
