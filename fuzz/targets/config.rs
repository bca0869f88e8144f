#![cfg_attr(feature = "libfuzzer", no_main)]

use motherlode_fuzz::fuzz_target;
use motherlode_runtime::{Config, Profiles};

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    match Config::parse(text) {
        Ok(config) => {
            let _ = config.check_exposure();
            let _ = config.check_role();
            let _ = config.write_partitions();
            let canonical = config.canonical();
            assert!(canonical.ends_with("}\n") && canonical.lines().count() == 1);
            Profiles::new(&config.jurisdictions).expect("the configuration was validated");
        }
        Err(error) => drop(error.to_string()),
    }
});
