//! Imports between the modules of a crate, from `use` items and from paths that begin with `crate`, `self`, `super` or a
//! child module. Imports in macro expansions are not found.

use std::collections::{BTreeMap, BTreeSet};

pub type Module = Vec<String>;

pub type Imports = BTreeMap<Module, BTreeSet<Module>>;

pub fn module_of(file: &str) -> Module {
    let mut names: Module = file.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    if names.len() == 1 && names[0] == "lib" || names.last().is_some_and(|name| name == "mod") {
        names.pop();
    }
    names
}

pub fn imports<'a>(files: impl IntoIterator<Item = (&'a str, &'a str)>) -> Imports {
    let files: BTreeMap<Module, &str> = files.into_iter().map(|(file, text)| (module_of(file), text)).collect();
    let home =
        |path: &[String]| (0..=path.len()).rev().map(|end| path[..end].to_vec()).find(|of| files.contains_key(of));
    let mut all = Imports::new();
    for (module, text) in &files {
        let child = |name: &str| files.contains_key(&[module.as_slice(), &[name.to_owned()]].concat());
        let named = paths(module, &tokens(text), child);
        let mut imported: BTreeSet<Module> = named.iter().filter_map(|path| home(path)).collect();
        imported.remove(module);
        all.insert(module.clone(), imported);
    }
    all
}

pub fn circles(imports: &Imports) -> Vec<BTreeSet<Module>> {
    let reached = |from: &Module| {
        let (mut reached, mut ahead) = (BTreeSet::new(), vec![from]);
        while let Some(module) = ahead.pop() {
            for next in imports.get(module).into_iter().flatten() {
                if reached.insert(next.clone()) {
                    ahead.push(next);
                }
            }
        }
        reached
    };
    let reached: BTreeMap<_, _> = imports.keys().map(|module| (module, reached(module))).collect();
    let mut found: Vec<BTreeSet<Module>> = vec![];
    for (module, ahead) in &reached {
        let circle: BTreeSet<Module> = ahead
            .iter()
            .filter(|other| reached.get(other).is_some_and(|back| back.contains(*module)))
            .cloned()
            .collect();
        if !circle.is_empty() && !found.contains(&circle) {
            found.push(circle);
        }
    }
    found
}

fn tokens(text: &str) -> Vec<String> {
    let letters: Vec<char> = text.chars().collect();
    let at = |place: usize| letters.get(place).copied().unwrap_or('\0');
    let word = |letter: char| letter.is_alphanumeric() || letter == '_';
    let (mut found, mut place) = (vec![], 0);
    while place < letters.len() {
        let letter = at(place);
        if letter == '/' && at(place + 1) == '/' {
            while place < letters.len() && at(place) != '\n' {
                place += 1;
            }
        } else if letter == '/' && at(place + 1) == '*' {
            let mut depth = 0;
            loop {
                match (at(place), at(place + 1)) {
                    ('/', '*') => (depth, place) = (depth + 1, place + 2),
                    ('*', '/') => (depth, place) = (depth - 1, place + 2),
                    _ => place += 1,
                }
                if depth == 0 || place >= letters.len() {
                    break;
                }
            }
        } else if letter == '"' {
            place += 1;
            while place < letters.len() && at(place) != '"' {
                place += if at(place) == '\\' { 2 } else { 1 };
            }
            place += 1;
        } else if letter == '\'' {
            let escaped = at(place + 1) == '\\';
            let end = (place + 2..place + 12)
                .find(|&end| at(end) == '\'' && (escaped && end > place + 2 || end == place + 2));
            place = end.map_or(place + 1, |end| end + 1);
        } else if word(letter) {
            let from = place;
            while word(at(place)) {
                place += 1;
            }
            let text: String = letters[from..place].iter().collect();
            let hashes = (place..).take_while(|&place| at(place) == '#').count();
            if ["r", "br", "cr"].contains(&&*text) && at(place + hashes) == '"' {
                let closes = |end: &usize| at(*end) == '"' && (1..=hashes).all(|hash| at(end + hash) == '#');
                let end = (place + hashes + 1..letters.len()).find(closes);
                place = end.map_or(letters.len(), |end| end + hashes + 1);
            } else {
                found.push(text);
            }
        } else if letter == ':' && at(place + 1) == ':' {
            found.push("::".to_owned());
            place += 2;
        } else {
            if !letter.is_whitespace() {
                found.push(letter.to_string());
            }
            place += 1;
        }
    }
    found
}

fn paths(module: &Module, tokens: &[String], child: impl Fn(&str) -> bool) -> Vec<Module> {
    let token = |place: usize| tokens.get(place).map_or("", String::as_str);
    let mut found = vec![];
    let (mut within, mut depth): (Vec<(String, usize)>, usize) = (vec![], 0);
    let mut place = 0;
    while place < tokens.len() {
        let here: Module = module.iter().cloned().chain(within.iter().map(|of| of.0.clone())).collect();
        let from_root = |path: &[String]| {
            let mut base = here.clone();
            let mut rest = path;
            match path.first().map(String::as_str) {
                Some("crate") => (base, rest) = (vec![], &path[1..]),
                Some("self") => rest = &path[1..],
                Some("super") => {
                    while rest.first().is_some_and(|name| name == "super") {
                        base.pop();
                        rest = &rest[1..];
                    }
                }
                Some(name) if within.is_empty() && child(name) => {}
                _ => return None,
            }
            Some([base.as_slice(), rest].concat())
        };
        match token(place) {
            "{" => depth += 1,
            "}" => {
                depth -= 1;
                if within.last().is_some_and(|of| of.1 == depth) {
                    within.pop();
                }
            }
            "mod" if token(place + 2) == "{" => {
                within.push((token(place + 1).to_owned(), depth));
                (depth, place) = (depth + 1, place + 2);
            }
            "use" if token(place + 1) != "<" => {
                let end = (place..tokens.len()).find(|&end| tokens[end] == ";").unwrap_or(tokens.len());
                let mut leaves = vec![];
                tree(&tokens[place + 1..end], &[], &mut leaves);
                found.extend(leaves.iter().filter_map(|leaf| from_root(leaf)));
                place = end;
            }
            "pub" if token(place + 1) == "(" && token(place + 2) == "in" => {
                place = (place..tokens.len()).find(|&end| tokens[end] == ")").unwrap_or(tokens.len());
            }
            _ if token(place + 1) == "::" && !["::", "$"].contains(&token(place.wrapping_sub(1))) => {
                let mut path = vec![token(place).to_owned()];
                while token(place + 1) == "::" {
                    path.push(token(place + 2).to_owned());
                    place += 2;
                }
                found.extend(from_root(&path));
            }
            _ => {}
        }
        place += 1;
    }
    found
}

fn tree(tokens: &[String], before: &[String], leaves: &mut Vec<Vec<String>>) {
    let mut path = before.to_vec();
    let mut place = 0;
    while place < tokens.len() {
        match tokens[place].as_str() {
            "{" => {
                let mut depth = 0;
                let mut from = place + 1;
                for (end, token) in tokens.iter().enumerate().skip(place) {
                    depth += i32::from(token == "{") - i32::from(token == "}");
                    if depth == 0 || depth == 1 && token == "," {
                        if from < end {
                            tree(&tokens[from..end], &path, leaves);
                        }
                        from = end + 1;
                    }
                    if depth == 0 {
                        return;
                    }
                }
                return;
            }
            "::" => {}
            "as" => break,
            name => path.push(name.to_owned()),
        }
        place += 1;
    }
    leaves.push(path);
}
