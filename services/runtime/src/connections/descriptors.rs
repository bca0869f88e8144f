use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Highest limit of file descriptors that the process requests. It is bounded because each descriptor costs kernel
/// memory.
const DESCRIPTORS_MAX: u64 = 1 << 20;

#[must_use]
pub fn descriptors() -> u64 {
    let limit = getrlimit(Resource::Nofile);
    let (current, maximum) = (limit.current.unwrap_or(DESCRIPTORS_MAX), limit.maximum.unwrap_or(DESCRIPTORS_MAX));
    let wanted = maximum.min(DESCRIPTORS_MAX);
    if current >= wanted {
        return current;
    }
    match setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum: limit.maximum }) {
        Ok(()) => wanted,
        Err(error) => {
            tracing::warn!(%error, descriptors = current, "failed to raise the limit of file descriptors");
            current
        }
    }
}
