//! Generates `docs/reference/generated/cli.md` from the commands.

use clap::Command;
use std::{fs, path::Path};

/// If this environment variable is set, the test updates the page.
const WRITE: &str = "MOTHERLODE_WRITE_DOCUMENTS";

const PAGE: &str = "docs/reference/generated/cli.md";

fn describe(command: &mut Command, name: &str, depth: usize, text: &mut String) {
    let help = command.render_long_help().to_string();
    let help: Vec<_> = help.lines().map(str::trim_end).collect();
    *text += &format!("\n{} {name}\n\n```text\n{}\n```\n", "#".repeat(depth), help.join("\n").trim_end());
    for below in command.get_subcommands_mut().filter(|below| below.get_name() != "help") {
        let name = format!("{name} {}", below.get_name());
        describe(below, &name, depth + 1, text);
    }
}

#[test]
fn the_reference_of_the_command_line_is_current() {
    let mut command = crate::cli::command().term_width(80);
    command.build();
    let mut text = "# Command line\n\n`motherlode COMMAND --help` prints the same text.\n".to_owned();
    describe(&mut command, "motherlode", 2, &mut text);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(PAGE);
    if std::env::var_os(WRITE).is_some() {
        fs::write(&path, &text).unwrap();
    }
    assert!(fs::read_to_string(&path).unwrap_or_default() == text, "{PAGE} is stale: run `just documents`");
    assert!(text.contains("### motherlode serve") && text.contains("### motherlode verify"));
}
