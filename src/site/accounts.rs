//! Users and groups, as the host's own programs know them.
//!
//! Not by the C library: in a program that is linked statically it would load the host's lookup modules, which are made
//! for another C library, and crash. `getent` and `id` ask every source that the host has; where they are missing,
//! `/etc/passwd` and `/etc/group` are all that there is.

use std::{
    fs, io,
    process::{Command, Stdio},
};

use nix::unistd::{Gid, Uid};

/// A user and the group that it has by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct User {
    pub name: String,
    pub uid: Uid,
    pub gid: Gid,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct UserGroup {
    pub name: String,
    pub gid: Gid,
    members: Vec<String>,
}

/// By its name or its number.
pub(super) fn user(key: &str) -> io::Result<Option<User>> {
    Ok(entry("passwd", key)?.as_deref().and_then(read_user))
}

/// By its name or its number.
pub(super) fn group(key: &str) -> io::Result<Option<UserGroup>> {
    Ok(entry("group", key)?.as_deref().and_then(read_group))
}

/// All groups of a user, its own among them.
pub(super) fn groups_of(user: &User) -> io::Result<Vec<Gid>> {
    match asked("id", &["-G", "--", &user.name]) {
        Ok(text) => Ok(text.split_whitespace().filter_map(number).map(Gid::from_raw).collect()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Ok(groups_in(&fs::read_to_string("/etc/group")?, user))
        }
        Err(error) => Err(error),
    }
}

/// Another user who has this group by itself; of several the first that the host names.
pub(super) fn other_of_group(gid: Gid, than: Uid) -> io::Result<Option<String>> {
    let text = match asked("getent", &["passwd"]) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => fs::read_to_string("/etc/passwd")?,
        listed => listed?,
    };
    Ok(other_in(&text, gid, than))
}

fn other_in(text: &str, gid: Gid, than: Uid) -> Option<String> {
    let mut users = text.lines().filter_map(read_user);
    users.find(|user| user.gid == gid && user.uid != than && !user.uid.is_root()).map(|user| user.name)
}

/// The line of one of the two databases; `None`: there is none.
fn entry(database: &str, key: &str) -> io::Result<Option<String>> {
    match asked("getent", &[database, "--", key]) {
        Ok(line) => Ok(Some(line).filter(|line| !line.is_empty())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let text = fs::read_to_string(format!("/etc/{database}"))?;
            Ok(text.lines().find(|line| is_named(line, key)).map(str::to_owned))
        }
        Err(error) => Err(error),
    }
}

/// What a program says. Nothing, if it fails: `getent` does so when there is no such entry.
fn asked(program: &str, words: &[&str]) -> io::Result<String> {
    let output = Command::new(program).args(words).stdin(Stdio::null()).stderr(Stdio::null()).output()?;
    let said = if output.status.success() { output.stdout } else { Vec::new() };
    Ok(String::from_utf8_lossy(&said).into_owned())
}

/// In both files the name is the first field and the number the third.
fn is_named(line: &str, key: &str) -> bool {
    let mut fields = line.split(':');
    fields.next() == Some(key) || fields.nth(1) == Some(key)
}

fn read_user(line: &str) -> Option<User> {
    let fields: Vec<&str> = line.trim_end().split(':').collect();
    let [name, _, uid, gid, ..] = fields[..] else { return None };
    Some(User { name: name.to_owned(), uid: Uid::from_raw(number(uid)?), gid: Gid::from_raw(number(gid)?) })
}

fn read_group(line: &str) -> Option<UserGroup> {
    let fields: Vec<&str> = line.trim_end().split(':').collect();
    let [name, _, gid, members, ..] = fields[..] else { return None };
    let members = members.split(',').map(str::to_owned).collect();
    Some(UserGroup { name: name.to_owned(), gid: Gid::from_raw(number(gid)?), members })
}

fn groups_in(text: &str, user: &User) -> Vec<Gid> {
    let groups = text.lines().filter_map(read_group).filter(|group| group.members.contains(&user.name));
    [user.gid].into_iter().chain(groups.map(|group| group.gid)).collect()
}

fn number(text: &str) -> Option<u32> {
    text.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "root:x:0:\nstaff:x:50:anna,bert\nwww-data:x:33:bert\nodd\n";

    #[test]
    fn the_host_knows_root_by_name_and_number_and_nobody_else_by_that() {
        let root = user("root").unwrap().unwrap();
        assert!(root.uid.is_root() && user("0").unwrap() == Some(root.clone()));
        assert!(groups_of(&root).unwrap().contains(&root.gid));
        assert_eq!(group("0").unwrap().unwrap().name, "root");
        assert_eq!((user("no-such-user").unwrap(), group("4294967290").unwrap()), (None, None));
        assert_eq!(user("--help").unwrap(), None);
    }

    #[test]
    fn a_group_that_several_users_have_by_themselves_is_told_from_ones_own() {
        let text =
            "root:x:0:0::/:/bin/sh\nanna:x:1000:100::/:/bin/sh\nbert:x:1001:1001::/:/bin/sh\ncora:x:1002:100::/:\n";
        let other = |gid, than| other_in(text, Gid::from_raw(gid), Uid::from_raw(than));
        assert_eq!(other(100, 1000).as_deref(), Some("cora"));
        assert_eq!((other(1001, 1001), other(0, 1000)), (None, None));
    }

    #[test]
    fn without_the_hosts_programs_the_files_are_read() {
        let bert = read_user("bert:x:1001:1000:Bert,,,:/home/bert:/bin/sh\n").unwrap();
        assert_eq!(groups_in(FILE, &bert).iter().map(|gid| gid.as_raw()).collect::<Vec<_>>(), [1000, 50, 33]);
        assert!(is_named("www-data:x:33:bert", "33") && is_named("www-data:x:33:bert", "www-data"));
        assert!(!is_named("www-data:x:33:bert", "bert") && !is_named("odd", "33"));
        assert_eq!((read_user("odd"), read_group("odd")), (None, None));
    }
}
