//! The one direction of the rooms, read from the `use` lines.

use std::{
    fs,
    path::{Path, PathBuf},
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

fn height(room: &str) -> Option<usize> {
    ROOMS.iter().position(|floor| floor.contains(&room))
}

fn sources(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// The program's own code: without the modules that are only for its tests.
fn files() -> Vec<(String, PathBuf, String)> {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = Vec::new();
    sources(&src, &mut found);
    let is_test = |path: &Path| path.to_str().is_some_and(|path| path.contains("tests"));
    let found = found.into_iter().filter(|path| !is_test(path));
    let room =
        |path: &Path| path.strip_prefix(&src).unwrap().iter().next().unwrap().to_str().unwrap().replace(".rs", "");
    found.map(|path| (room(&path), path.clone(), fs::read_to_string(&path).unwrap())).collect()
}

/// The rooms that a file names by `crate::`, also those in a nested `use crate::{…}`.
fn used(text: &str) -> Vec<String> {
    let code: String = text.split("#[cfg(test)]").next().unwrap().to_owned();
    let mut rooms = Vec::new();
    for after in code.split("crate::").skip(1) {
        match after.strip_prefix('{') {
            None => rooms.push(after.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap().to_owned()),
            Some(list) => {
                let (mut depth, mut word) = (0, String::new());
                for c in list.chars() {
                    match c {
                        '{' => depth += 1,
                        '}' if depth == 0 => break,
                        '}' => depth -= 1,
                        ',' if depth == 0 => rooms.push(std::mem::take(&mut word)),
                        c if depth == 0 => word.push(c),
                        _ => {}
                    }
                }
                rooms.push(word);
            }
        }
    }
    rooms.into_iter().map(|room| room.trim().split("::").next().unwrap().trim().to_owned()).collect()
}

#[test]
fn rooms_use_only_rooms_below_them() {
    for (room, path, text) in files() {
        let Some(own) = height(&room) else { continue };
        for other in used(&text).into_iter().filter(|other| *other != room) {
            let Some(below) = height(&other) else { continue };
            let door = ROOMS[0].contains(&other.as_str()); // its words and exit codes are what commands answer with
            assert!(door && own <= 6 || below > own, "{} uses {other}", path.display());
        }
    }
}

#[test]
fn unsafe_is_in_one_room_and_sql_in_another() {
    for (room, path, text) in files() {
        let code = text.split("#[cfg(test)]").next().unwrap();
        let is_unsafe = code.contains("unsafe {") || code.contains("unsafe fn");
        assert!(!is_unsafe || room == "supervise", "unsafe in {}", path.display());
        let sql = ["SELECT ", "INSERT INTO", "DELETE FROM", "UPDATE job", "BEGIN IMMEDIATE\""];
        let has_sql =
            sql.iter().any(|word| code.lines().any(|line| !line.trim_start().starts_with("//") && line.contains(word)));
        assert!(!has_sql || room == "store", "SQL in {}", path.display());
    }
}
