//! Generates `docs/reference/generated/configuration.md` from the structs that parse the configuration.

use crate::root;
use motherlode_runtime::Config;
use std::{collections::BTreeMap, fs, path::PathBuf};
use syn::{
    Attribute, Expr, Field, Fields, GenericArgument, Item, ItemEnum, ItemStruct, Lit, Meta, PathArguments, Type,
    parse::Parser, punctuated::Punctuated,
};

const WRITE: &str = "MOTHERLODE_WRITE_DOCUMENTS";

const PAGE: &str = "docs/reference/generated/configuration.md";

const SOURCES: [&str; 3] =
    ["services/runtime/src/config.rs", "services/runtime/src/jurisdiction.rs", "engine/state/src/play/profile.rs"];

struct Section<'a> {
    item: &'a ItemStruct,
    file: usize,
}

struct Sources {
    files: Vec<Vec<Item>>,
    defaults: serde_json::Value,
}

impl Sources {
    fn read() -> Self {
        let mut paths: Vec<PathBuf> = fs::read_dir(root().join("services/runtime/src/config"))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        paths.sort();
        paths.splice(0..0, SOURCES.map(|path| root().join(path)));
        let items = |path: &PathBuf| syn::parse_file(&fs::read_to_string(path).unwrap()).unwrap().items;
        Self { files: paths.iter().map(items).collect(), defaults: serde_json::to_value(Config::default()).unwrap() }
    }

    fn order(&self, file: usize) -> impl Iterator<Item = usize> {
        [file].into_iter().chain(SOURCES.len()..self.files.len()).chain(0..SOURCES.len())
    }

    fn structure(&self, name: &str, file: usize) -> Option<Section<'_>> {
        self.order(file).find_map(|file| {
            self.files[file].iter().find_map(|item| match item {
                Item::Struct(item) if item.ident == name && matches!(item.fields, Fields::Named(_)) => {
                    Some(Section { item, file })
                }
                _ => None,
            })
        })
    }

    fn choices(&self, name: &str, file: usize) -> Option<&ItemEnum> {
        self.order(file).find_map(|file| {
            self.files[file].iter().find_map(|item| match item {
                Item::Enum(item) if item.ident == name => Some(item),
                _ => None,
            })
        })
    }

    fn value_of(&self, function: &str, file: usize) -> String {
        let found = self.files[file].iter().find_map(|item| match item {
            Item::Fn(item) if item.sig.ident == function => Some(item),
            _ => None,
        });
        match found.expect("the function of a default must be in the file of its field").block.stmts.last() {
            Some(syn::Stmt::Expr(Expr::Lit(value), None)) => literal(&value.lit),
            _ => panic!("{function}: the default is not a literal"),
        }
    }
}

fn literal(value: &Lit) -> String {
    match value {
        Lit::Int(value) => value.base10_digits().to_owned(),
        Lit::Bool(value) => value.value.to_string(),
        Lit::Str(value) => value.value(),
        _ => panic!("a literal of another type"),
    }
}

fn doc(attributes: &[Attribute]) -> String {
    let lines =
        attributes.iter().filter(|attribute| attribute.path().is_ident("doc")).filter_map(|attribute| match &attribute
            .meta
        {
            Meta::NameValue(value) => match &value.value {
                Expr::Lit(text) => Some(literal(&text.lit).trim().to_owned()),
                _ => None,
            },
            _ => None,
        });
    let text = lines.collect::<Vec<_>>().join(" ");
    let link = fancy_regex::Regex::new(r"\[(`[^`]+`)\](?:\([^)]*\))?").unwrap();
    link.replace_all(&text, "$1").replace('|', "\\|").trim().to_owned()
}

fn serde_words(attributes: &[Attribute]) -> BTreeMap<String, Option<String>> {
    let mut words = BTreeMap::new();
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("serde")) {
        let Meta::List(list) = &attribute.meta else { continue };
        for meta in Punctuated::<Meta, syn::Token![,]>::parse_terminated.parse2(list.tokens.clone()).unwrap() {
            let name = meta.path().get_ident().unwrap().to_string();
            let value = match &meta {
                Meta::NameValue(value) => match &value.value {
                    Expr::Lit(text) => Some(literal(&text.lit)),
                    _ => None,
                },
                _ => None,
            };
            words.insert(name, value);
        }
    }
    words
}

fn parts(of: &Type) -> (String, Option<&Type>) {
    let Type::Path(path) = of else { panic!("a type of another form") };
    let last = path.path.segments.last().unwrap();
    let argument = match &last.arguments {
        PathArguments::AngleBracketed(arguments) => arguments.args.iter().rev().find_map(|argument| match argument {
            GenericArgument::Type(of) => Some(of),
            _ => None,
        }),
        _ => None,
    };
    (last.ident.to_string(), argument)
}

fn type_name(sources: &Sources, name: &str, file: usize) -> String {
    match name {
        "u8" | "u16" | "u32" | "u64" | "usize" | "i64" => "integer".to_owned(),
        "bool" => "boolean".to_owned(),
        "String" => "text".to_owned(),
        "PathBuf" => "path".to_owned(),
        "SocketAddr" => "address and port".to_owned(),
        "Digest" => "SHA-256, 64 hexadecimal digits".to_owned(),
        "Roles" => "list of roles".to_owned(),
        _ => match sources.choices(name, file) {
            Some(choices) => {
                let names =
                    choices.variants.iter().map(|variant| format!("\"{}\"", variant.ident.to_string().to_lowercase()));
                names.collect::<Vec<_>>().join(", ")
            }
            None => name.to_lowercase(),
        },
    }
}

fn lookup<'a>(value: &'a serde_json::Value, path: &[String]) -> Option<&'a serde_json::Value> {
    path.iter().try_fold(value, |value, key| value.get(key))
}

fn section(sources: &Sources, name: &str, file: usize, path: &[String], heading: &str, text: &mut String) {
    let Section { item, file } = sources.structure(name, file).unwrap_or_else(|| panic!("no struct {name}"));
    let (mut rows, mut below) = (String::new(), vec![]);
    for Field { ident, ty, attrs, .. } in &item.fields {
        let words = serde_words(attrs);
        if words.contains_key("skip") {
            continue;
        }
        let key = words.get("rename").cloned().flatten().unwrap_or_else(|| ident.as_ref().unwrap().to_string());
        let (mut outer, mut inner) = (String::new(), ty);
        let mut base = parts(inner);
        while let ("Option" | "Vec" | "BTreeMap" | "BTreeSet", Some(argument)) = (base.0.as_str(), base.1) {
            outer += &base.0;
            inner = argument;
            base = parts(inner);
        }
        let own = [path, std::slice::from_ref(&key)].concat();
        if sources.structure(&base.0, file).is_some() {
            let name = heading.trim_matches(['[', ']']);
            let name = if name.is_empty() { key.clone() } else { format!("{name}.{key}") };
            let heading = match outer.as_str() {
                "Vec" => format!("[[{name}]]"),
                maps if maps.contains("BTreeMap") => {
                    format!("[{name}{}]", ".NAME".repeat(maps.matches("BTreeMap").count()))
                }
                _ => format!("[{name}]"),
            };
            below.push((base.0, own, heading, doc(attrs)));
            continue;
        }
        let mut kind = if key == "expires" { "date and time".to_owned() } else { type_name(sources, &base.0, file) };
        if outer.contains("Vec") || outer.contains("BTreeSet") {
            kind = format!("list of {kind}");
        }
        if outer.contains("BTreeMap") {
            kind = format!("table of {kind}");
        }
        let default = match (lookup(&sources.defaults, &own), words.get("default")) {
            (Some(value), _) if !value.is_null() => format!("`{value}`"),
            (_, Some(Some(function))) => format!("`{}`", sources.value_of(function, file)),
            (_, Some(None)) => String::new(),
            (_, None) if outer.starts_with("Option") => String::new(),
            (_, None) if path.is_empty() || serde_words(&item.attrs).contains_key("default") => String::new(),
            (_, None) => "required".to_owned(),
        };
        rows += &format!("| `{key}` | {kind} | {default} | {} |\n", doc(attrs));
    }
    if !rows.is_empty() {
        *text += &format!("| key | type | default | meaning |\n|---|---|---|---|\n{rows}");
    }
    for (name, path, heading, about) in below {
        *text += &format!("\n## `{heading}`\n\n{about}\n\n");
        section(sources, &name, file, &path, &heading, text);
    }
}

#[test]
fn the_reference_of_the_configuration_is_current() {
    let mut text = "# Configuration\n\nKeys of the file that `motherlode serve --config FILE` reads (TOML). Every key is optional unless it is \
                    *required*; an unknown key is refused. `motherlode config FILE` checks a file. An empty default means that the setting is \
                    absent. Command-line flags take precedence.\n\n"
        .to_owned();
    section(&Sources::read(), "Config", 0, &[], "", &mut text);
    let path = root().join(PAGE);
    if std::env::var_os(WRITE).is_some() {
        fs::write(&path, &text).unwrap();
    }
    assert!(fs::read_to_string(&path).unwrap_or_default() == text, "{PAGE} is stale: run `just documents`");
    for key in ["listen", "token_sha256", "connections_max", "answer_ms_max", "otlp_endpoint"] {
        assert!(text.contains(&format!("| `{key}` |")), "{key}");
    }
}
