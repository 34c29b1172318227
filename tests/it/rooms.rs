//! The house: which room may use which, no circles between files, one meaning for each public type, and `unsafe` and SQL
//! in one room each. Read from the parsed sources, without what is only for tests.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use syn::{
    Attribute, Item, Visibility,
    visit::{self, Visit},
};

/// From the top down; a room may use those after it. Those in one line do not know each other.
const ROOMS: [&[&str]; 11] = [
    &["cli", "exit", "logging", "output", "usage"],
    &["web"],
    &["admin"],
    &["tick"],
    &["run"],
    &["request"],
    &["context"],
    &["supervise", "cache", "store"],
    &["site"],
    &["config"],
    &["model"],
];

/// How many rooms from the top may use those of the first line: its words and exit codes are what commands answer with.
const COMMANDS: usize = 6;

const SQL: [&str; 5] = ["SELECT ", "INSERT INTO", "DELETE FROM", "UPDATE job", "BEGIN IMMEDIATE"];

/// A module's place: `["store", "sqlite", "open"]`.
type Place = Vec<String>;

struct Source {
    place: Place,
    names: Vec<Place>,
    public: Vec<String>,
    has_unsafe: bool,
    has_sql: bool,
}

impl Source {
    fn room(&self) -> &str {
        self.place.first().map_or("main", String::as_str)
    }
}

/// What one file says. Paths are absolute: `crate`, `self` and `super` are resolved.
struct Reader {
    place: Place,
    found: Source,
}

fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && attribute.parse_args::<syn::Path>().is_ok_and(|condition| condition.is_ident("test"))
    })
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(it) => &it.attrs,
        Item::Fn(it) => &it.attrs,
        Item::Impl(it) => &it.attrs,
        Item::Macro(it) => &it.attrs,
        Item::Mod(it) => &it.attrs,
        Item::Static(it) => &it.attrs,
        Item::Struct(it) => &it.attrs,
        Item::Use(it) => &it.attrs,
        _ => &[],
    }
}

impl Reader {
    fn resolve(&self, words: &[String]) -> Option<Place> {
        let mut place = match words.first()?.as_str() {
            "crate" => Vec::new(),
            "self" | "super" => self.place.clone(),
            _ => return None,
        };
        let mut rest = words;
        while let [first, after @ ..] = rest {
            match first.as_str() {
                "crate" | "self" => {}
                "super" => drop(place.pop()),
                _ => break,
            }
            rest = after;
        }
        place.extend_from_slice(rest);
        Some(place)
    }

    fn note(&mut self, words: &[String]) {
        let place = self.resolve(words);
        self.found.names.extend(place);
    }

    fn used(&mut self, tree: &syn::UseTree, before: &[String]) {
        let with = |name: &syn::Ident| [before, &[name.to_string()]].concat();
        match tree {
            syn::UseTree::Path(path) => self.used(&path.tree, &with(&path.ident)),
            syn::UseTree::Name(name) => self.note(&with(&name.ident)),
            syn::UseTree::Rename(name) => self.note(&with(&name.ident)),
            syn::UseTree::Glob(_) => self.note(before),
            syn::UseTree::Group(group) => group.items.iter().for_each(|tree| self.used(tree, before)),
        }
    }

    fn publish(&mut self, visibility: &Visibility, name: &syn::Ident) {
        if matches!(visibility, Visibility::Public(_)) {
            self.found.public.push(name.to_string());
        }
    }
}

impl<'ast> Visit<'ast> for Reader {
    fn visit_item(&mut self, item: &'ast Item) {
        if is_for_tests(attributes(item)) {
            return;
        }
        match item {
            Item::Enum(it) => self.publish(&it.vis, &it.ident),
            Item::Struct(it) => self.publish(&it.vis, &it.ident),
            Item::Trait(it) => self.publish(&it.vis, &it.ident),
            Item::Type(it) => self.publish(&it.vis, &it.ident),
            Item::Impl(it) => self.found.has_unsafe |= it.unsafety.is_some(),
            _ => {}
        }
        visit::visit_item(self, item);
    }

    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        self.place.push(module.ident.to_string());
        visit::visit_item_mod(self, module);
        self.place.pop();
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.used(&item.tree, &[]);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let words: Vec<_> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        self.note(&words);
        visit::visit_path(self, path);
    }

    fn visit_expr_unsafe(&mut self, expression: &'ast syn::ExprUnsafe) {
        self.found.has_unsafe = true;
        visit::visit_expr_unsafe(self, expression);
    }

    fn visit_signature(&mut self, signature: &'ast syn::Signature) {
        self.found.has_unsafe |= matches!(signature.safety, syn::Safety::Unsafe(_));
        visit::visit_signature(self, signature);
    }

    fn visit_lit_str(&mut self, literal: &'ast syn::LitStr) {
        self.found.has_sql |= SQL.iter().any(|word| literal.value().contains(word));
    }

    /// What stands in a macro is no syntax tree: names and texts are looked for among its words.
    fn visit_macro(&mut self, macro_call: &'ast syn::Macro) {
        let text = macro_call.tokens.to_string();
        self.found.has_unsafe |= text.contains("unsafe {");
        self.found.has_sql |= SQL.iter().any(|word| text.contains(word));
        for after in text.split("crate :: ").skip(1) {
            let path = after.split(|c: char| !(c.is_alphanumeric() || "_: ".contains(c))).next().unwrap_or_default();
            let words = path.split(" :: ").map(|word| word.split(' ').next().unwrap_or_default().to_owned());
            let words: Vec<_> = ["crate".to_owned()].into_iter().chain(words).collect();
            self.note(&words);
        }
        visit::visit_macro(self, macro_call);
    }
}

/// All files below, with their place; folders and files of tests are left out.
fn walk(dir: &Path, place: &[String], found: &mut Vec<Source>) {
    for entry in fs::read_dir(dir).unwrap().map(Result::unwrap) {
        let name = entry.file_name().into_string().unwrap();
        let stem = name.trim_end_matches(".rs");
        if stem == "tests" || stem.ends_with("_tests") {
            continue;
        }
        let mut inner = place.to_vec();
        inner.extend((!["mod", "main"].contains(&stem)).then(|| stem.to_owned()));
        if entry.path().is_dir() {
            walk(&entry.path(), &inner, found);
        } else if entry.path().extension().is_some_and(|extension| extension == "rs") {
            found.push(read(&fs::read_to_string(entry.path()).unwrap(), inner));
        }
    }
}

fn read(text: &str, place: Place) -> Source {
    let found =
        Source { place: place.clone(), names: Vec::new(), public: Vec::new(), has_unsafe: false, has_sql: false };
    let mut reader = Reader { place, found };
    reader.visit_file(&syn::parse_file(text).unwrap());
    reader.found
}

fn sources() -> Vec<Source> {
    let mut found = Vec::new();
    walk(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &[], &mut found);
    let rooms: BTreeSet<_> = found.iter().map(Source::room).collect();
    for room in ROOMS.concat() {
        assert!(rooms.contains(room), "nothing was read of {room}");
    }
    let names: usize = found.iter().map(|source| source.names.len()).sum();
    assert!(found.len() >= 80 && names >= 2000, "only {} files with {names} names were read", found.len());
    found
}

fn height(room: &str) -> Option<usize> {
    ROOMS.iter().position(|floor| floor.contains(&room))
}

#[test]
fn rooms_use_only_rooms_below_them() {
    for source in sources() {
        let Some(own) = height(source.room()) else { continue };
        for other in source.names.iter().filter_map(|name| name.first()).filter(|other| *other != source.room()) {
            let Some(below) = height(other) else { continue };
            assert!(below == 0 && own <= COMMANDS || below > own, "{} uses {other}", source.place.join("::"));
        }
    }
}

#[test]
fn unsafe_is_in_one_room_and_sql_in_another() {
    let sources = sources();
    for source in &sources {
        assert!(!source.has_unsafe || source.room() == "supervise", "unsafe in {}", source.place.join("::"));
        assert!(!source.has_sql || source.room() == "store", "SQL in {}", source.place.join("::"));
    }
    assert!(sources.iter().any(|source| source.has_unsafe) && sources.iter().any(|source| source.has_sql));
}

#[test]
fn a_public_type_has_a_name_of_its_own() {
    let mut homes: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for source in sources() {
        for name in source.public {
            homes.entry(name).or_default().push(source.place.join("::"));
        }
    }
    assert!(homes.len() >= 200, "only {} types were found", homes.len());
    let shared: Vec<_> = homes.iter().filter(|(_, homes)| homes.len() > 1).collect();
    assert!(shared.is_empty(), "{shared:#?}");
}

/// The file that holds the most of a name's path, unless it holds the user or is held by it: a folder and what lies in it
/// are one thing to whoever stands outside.
fn target<'a>(name: &Place, user: &Place, places: &BTreeSet<&'a Place>) -> Option<&'a Place> {
    let home = (1..=name.len()).rev().find_map(|length| places.get(&name[..length].to_vec()).copied())?;
    (!home.starts_with(user) && !user.starts_with(home)).then_some(home)
}

/// Whether a way leads from `from` to `to`.
fn reaches<'a>(from: &'a Place, to: &Place, uses: &BTreeMap<&'a Place, BTreeSet<&'a Place>>) -> bool {
    let (mut seen, mut left) = (BTreeSet::new(), vec![from]);
    while let Some(place) = left.pop() {
        for next in uses.get(place).into_iter().flatten() {
            if *next == to {
                return true;
            }
            if seen.insert(*next) {
                left.push(next);
            }
        }
    }
    false
}

#[test]
fn files_do_not_use_each_other_in_circles() {
    let sources = sources();
    let places: BTreeSet<_> = sources.iter().map(|source| &source.place).collect();
    let mut uses: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
    for source in &sources {
        let targets = source.names.iter().filter_map(|name| target(name, &source.place, &places));
        uses.entry(&source.place).or_default().extend(targets);
    }
    let in_circles: Vec<_> =
        places.iter().filter(|place| reaches(place, place, &uses)).map(|place| place.join("::")).collect();
    assert!(in_circles.is_empty(), "{in_circles:#?}");
}

#[test]
fn the_checks_find_what_they_look_for() {
    let text = "use crate::{model::job::{Job, JobId as Id}, web::*}; #[cfg(test)] mod tests { use crate::tick::Tick; }
        pub struct Seen; unsafe impl Send for Seen {} fn f() { println!(\"{}\", crate::run::at(1)); super::near::go(); }
        const LATE: &str = \"SELECT 1\";";
    let found = read(text, vec!["store".to_owned(), "late".to_owned()]);
    let names: Vec<_> = found.names.iter().map(|name| name.join("::")).collect();
    assert_eq!(names, ["model::job::Job", "model::job::JobId", "web", "run::at", "store::near::go"]);
    assert_eq!(found.public, ["Seen"]);
    assert!(found.has_unsafe && found.has_sql);
}

/// A skipped test is told past the test harness, which swallows what a passing test prints: by one function alone.
#[test]
fn only_one_place_tells_of_a_skipped_test() {
    fn look(dir: &Path, seen: &mut Vec<String>) {
        for entry in fs::read_dir(dir).unwrap().map(Result::unwrap) {
            let path = entry.path();
            if path.is_dir() {
                look(&path, seen);
            } else if fs::read_to_string(&path).is_ok_and(|text| text.contains(concat!("SKIP", "PED: {"))) {
                seen.push(path.strip_prefix(env!("CARGO_MANIFEST_DIR")).unwrap().display().to_string());
            }
        }
    }
    let mut seen = Vec::new();
    for dir in ["tests", "src", "examples"] {
        look(&Path::new(env!("CARGO_MANIFEST_DIR")).join(dir), &mut seen);
    }
    assert_eq!(seen, ["tests/outside/mod.rs"]);
}
