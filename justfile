# Common tasks; `just` lists them.

[private]
default:
    @just --list --unsorted

# Build and serve on 127.0.0.1:50051, with the log in ./data
run *ARGS:
    cargo run --profile quick -- serve {{ ARGS }}

# Run all tests, or the named parts; `just test -h` lists the parts
test *PARTS:
    ./tests/run {{ PARTS }}

# Format, then lint as CI does
lint:
    cargo fmt --all
    cargo clippy --workspace --all-targets -- -D warnings

# Run all checks that a change must pass
ci:
    .ci/run

# Run the Criterion benchmarks of the hot paths
bench *ARGS:
    cargo bench --workspace {{ ARGS }}

# Fuzz all targets, or the named targets (`just fuzz record segment`); FUZZ_RUNS sets the number of
# runs per target
fuzz *TARGETS:
    FUZZ_TARGETS="{{ TARGETS }}" ./tests/run fuzz

# Open the console of the local service in a browser
console:
    python3 -m webbrowser http://127.0.0.1:50080/

# Generate the documents of errors, calls, configuration and command line
documents:
    MOTHERLODE_WRITE_DOCUMENTS=1 cargo test -q -p motherlode-runtime at_c1_the_errors_reference
    MOTHERLODE_WRITE_DOCUMENTS=1 cargo test -q -p motherlode --lib pages
    MOTHERLODE_WRITE_DOCUMENTS=1 cargo test -q -p motherlode-tests --test tidy configuration
    MOTHERLODE_WRITE_DOCUMENTS=1 cargo test -q -p motherlode-tests --test e2e every_call_has_its_page

# Build the documentation site in target/site
site:
    docs/build
