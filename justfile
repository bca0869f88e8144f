# Common tasks; `just` lists them. Each is one command that works without just as well.

[private]
default:
    @just --list --unsorted

# Build and serve on 127.0.0.1:50051, with the log in ./data
run *ARGS:
    cargo run --profile quick -- serve {{ ARGS }}

# All tests, or some parts of them: `just test -h` names the parts
test *PARTS:
    ./tests/run {{ PARTS }}

# Format, then lint as CI does
lint:
    cargo fmt --all
    cargo clippy --workspace --all-targets -- -D warnings

# Everything that a change must pass
ci:
    .ci/run

# Criterion benches of the hot paths
bench *ARGS:
    cargo bench --workspace {{ ARGS }}

# Fuzz all targets, or those named: `just fuzz record segment`; FUZZ_RUNS is how often each is run
fuzz *TARGETS:
    FUZZ_TARGETS="{{ TARGETS }}" ./tests/run fuzz

# Open the console of a service that runs here in a browser
console:
    python3 -m webbrowser http://127.0.0.1:50080/

# Write the generated documents: errors, calls, configuration, command line
documents:
    MOTHERLODE_WRITE_DOCUMENTS=1 cargo test -q -p motherlode-runtime at_c1_the_errors_reference
    MOTHERLODE_WRITE_DOCUMENTS=1 cargo test -q -p motherlode --lib pages
    MOTHERLODE_WRITE_DOCUMENTS=1 cargo test -q -p motherlode-tests --test tidy configuration
    MOTHERLODE_WRITE_DOCUMENTS=1 cargo test -q -p motherlode-tests --test e2e every_call_has_its_page

# Build the site of the documents in target/site
site:
    docs/build
