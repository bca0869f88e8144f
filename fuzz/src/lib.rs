pub mod golden;
pub mod message;
pub mod service;
pub mod story;

#[cfg(feature = "libfuzzer")]
pub use libfuzzer_sys::fuzz_target;

#[cfg(not(feature = "libfuzzer"))]
#[macro_export]
macro_rules! fuzz_target {
    (|$bytes:ident: &[u8]| $body:block) => {
        fn main() {
            fn run_target($bytes: &[u8]) {
                $body
            }
            for file in std::env::args().skip(1) {
                run_target(&std::fs::read(&file).unwrap_or_else(|error| panic!("{file}: {error}")));
            }
        }
    };
}
