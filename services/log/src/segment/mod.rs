mod active;
pub(crate) mod format;
mod index;
mod outline;
mod reader;
mod scan;
mod sealed;
mod spare;
mod store;
mod tail;
mod window;

pub use scan::{Scan, Tail, scan, scan_after, scan_on};
pub use sealed::{Sealed, SealedDamage, Sealer, Unsealer};
pub use store::{Options, SegmentStore, read_present};
