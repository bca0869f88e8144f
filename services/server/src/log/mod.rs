pub mod backup;
pub mod copy;
pub mod layout;
pub mod local;
pub mod location;
pub mod records;
