use std::{fs, path::Path};

use crate::{
    modules::{Module, circles, imports, module_of},
    root,
};

/// Layers, lowest first. Each folder may import only from folders before it in this list.
const FLOORS: [(&str, &[&str]); 2] = [
    ("engine/slots", &["contract", "parts", "math", "games"]),
    ("engine/state", &["values", "events", "statement", "play", "state", "fold"]),
];

fn crates() -> Vec<String> {
    let mut found = vec!["proto".to_owned()];
    for folder in ["engine", "services"] {
        for entry in fs::read_dir(root().join(folder)).unwrap().map(Result::unwrap) {
            if entry.path().join("src").is_dir() {
                found.push(format!("{folder}/{}", entry.file_name().into_string().unwrap()));
            }
        }
    }
    found
}

fn files(folder: &Path, before: &str, found: &mut Vec<(String, String)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = format!("{before}{}", path.file_name().unwrap().to_string_lossy());
        if path.is_dir() {
            files(&path, &format!("{name}/"), found);
        } else if name.ends_with(".rs") {
            found.push((name, fs::read_to_string(&path).unwrap()));
        }
    }
}

fn crate_files(name: &str) -> Vec<(String, String)> {
    let mut found = vec![];
    files(&root().join(name).join("src"), "", &mut found);
    assert!(found.iter().any(|(file, _)| file == "lib.rs"), "{name} is a library");
    found
}

fn in_words(module: &Module) -> String {
    if module.is_empty() { "the crate's root".to_owned() } else { module.join("::") }
}

#[test]
fn no_modules_import_each_other_in_a_circle() {
    let (mut all, mut imported) = (0, 0);
    for name in crates() {
        let files = crate_files(&name);
        let imports = imports(files.iter().map(|(file, text)| (file.as_str(), text.as_str())));
        all += files.len();
        imported += imports.values().map(|of| of.len()).sum::<usize>();
        let mut found = vec![];
        for circle in circles(&imports) {
            found.push(format!("{name}: {} modules import each other in a circle", circle.len()));
            for module in &circle {
                let within = imports[module].intersection(&circle).map(in_words).collect::<Vec<_>>().join(", ");
                found.push(format!("  {} imports {within}", in_words(module)));
            }
        }
        assert!(found.is_empty(), "{}", found.join("\n"));
    }
    assert!(all > 300 && imported > all, "files and imports were read: {all}, {imported}");
}

#[test]
fn no_floor_imports_one_above_it() {
    for (name, floors) in FLOORS {
        let files = crate_files(name);
        let floor = |module: &Module| floors.iter().position(|floor| module.first().is_some_and(|of| of == floor));
        for (module, imported) in imports(files.iter().map(|(file, text)| (file.as_str(), text.as_str()))) {
            let Some(stands) = floor(&module) else {
                assert!(module.is_empty(), "{name}: the folder {} is in no layer", in_words(&module));
                continue;
            };
            for other in imported {
                let below = floor(&other).is_some_and(|other| other <= stands);
                assert!(below, "{name}: {} imports {}", in_words(&module), in_words(&other));
            }
        }
    }
}

fn of(files: &[(&str, &str)]) -> Vec<String> {
    let circles = circles(&imports(files.iter().copied()));
    circles.iter().map(|circle| circle.iter().map(in_words).collect::<Vec<_>>().join(" ")).collect()
}

#[test]
fn the_checker_finds_a_circle() {
    let two =
        [("a.rs", "use crate::b::B;\npub struct A(B);"), ("b.rs", "use super::a::A;"), ("c.rs", "use crate::a::A;")];
    assert_eq!(of(&two), ["a b"]);
    let round_about = [
        ("a.rs", "use crate::{b::{self, B as X}, d};"),
        ("b.rs", "fn f() { crate::c::go() }"),
        ("c.rs", "fn go(of: &crate::a::A) {}"),
        ("d.rs", ""),
    ];
    assert_eq!(of(&round_about), ["a b c"]);
    let two_circles = [
        ("a.rs", "use crate::b;"),
        ("b.rs", "use crate::a;"),
        ("c.rs", "use crate::d;"),
        ("d.rs", "use crate::{a, c};"),
    ];
    assert_eq!(of(&two_circles), ["a b", "c d"]);
}

#[test]
fn the_checker_finds_a_circle_through_a_folder_or_the_root() {
    let re_exported =
        [("x/mod.rs", "mod y;\npub use y::Y;\npub const Z: u8 = 1;"), ("x/y.rs", "use super::Z;\npub struct Y;")];
    assert_eq!(of(&re_exported), ["x x::y"]);
    let called = [("x/mod.rs", "mod y;\npub fn go() { y::go(1) }"), ("x/y.rs", "use crate::x::*;")];
    assert_eq!(of(&called), ["x x::y"]);
    let root = [("lib.rs", "mod a;\npub use self::a::A;"), ("a.rs", "pub fn f(_: crate::A) {}")];
    assert_eq!(of(&root), ["the crate's root a"]);
    let from_a_test = [("a.rs", "mod tests { use super::super::b::B; }"), ("b.rs", "use crate::a::A;")];
    assert_eq!(of(&from_a_test), ["a b"]);
}

#[test]
fn the_checker_finds_no_circle_where_there_is_none() {
    let one_way = [
        ("lib.rs", "pub mod x;\npub use x::y::Y;"),
        ("x/mod.rs", "pub mod y;\npub mod z;"),
        ("x/y.rs", "use super::z::Z;"),
        ("x/z.rs", "use std::x::y;"),
    ];
    assert_eq!(of(&one_way), [""; 0]);
    let only_said = [
        (
            "a.rs",
            "//! See [`crate::b`].\n/* crate::b::B /* nested */ crate::b */\nconst T: &str = \"use crate::b;\";\nconst R: &str = r#\"\"crate::b\"#; const C: char = '\"';",
        ),
        ("b.rs", "use crate::a::T; fn f<'a>(_: &'a str) {}"),
    ];
    assert_eq!(of(&only_said), [""; 0]);
    let own_tests = [
        ("a.rs", "fn f() {}\nmod tests { use super::*; mod deep { use super::super::f; } }\nuse crate::b;"),
        ("b.rs", "pub(in crate::a) fn g() -> impl Sized + use<> { g() }"),
    ];
    assert_eq!(of(&own_tests), [""; 0]);
}

#[test]
fn the_checker_knows_a_file_by_its_module() {
    assert_eq!(module_of("lib.rs"), Module::new());
    assert_eq!(module_of("x/mod.rs"), ["x"]);
    assert_eq!(module_of("x/y.rs"), ["x", "y"]);
    let found = imports([
        ("a.rs", "use crate::b::lib; fn f() { let x = b'x'; let y = '\\''; crate::c::go() }"),
        ("b.rs", ""),
        ("c.rs", ""),
    ]);
    assert_eq!(found[&vec!["a".to_owned()]].iter().map(in_words).collect::<Vec<_>>(), ["b", "c"]);
}
