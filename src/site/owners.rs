//! Whom a state directory belongs to; why a user is refused in it, and what would help: its group, or to act as its owner.
//!
//! Users and groups are looked up by the host's own programs, not by the C library: in a program that is linked statically it would load the host's lookup modules, which are made
//! for another C library, and crash. `getent` and `id` ask every source that the host has; where they are missing,
//! `/etc/passwd` and `/etc/group` are all that there is.

use std::{
    fs, io,
    os::unix::fs::MetadataExt,
    path::Path,
    process::{Command, Stdio},
};

use anyhow::{Context as _, bail};
use nix::unistd::{Gid, Uid, getegid, getgroups, setgid, setgroups, setuid};

/// The user whose crontab ticks, and the group that is shared with the web user.
#[derive(Clone, Debug)]
pub(super) struct Owners {
    pub uid: Uid,
    pub gid: Gid,
}

impl Owners {
    /// From names or numbers. What is not given stays as it is in `existing`, else is the caller's own.
    pub fn resolve(user: Option<&str>, group: Option<&str>, existing: Option<(u32, u32)>) -> anyhow::Result<Self> {
        let existing = existing.map(|(uid, gid)| (Uid::from_raw(uid), Gid::from_raw(gid)));
        let user = match (user, existing) {
            // Without a name only the owner that is there already: a wrong number would be nobody's.
            (Some(name), Some((uid, gid))) if name.parse() == Ok(uid.as_raw()) => (uid, gid),
            (Some(name), _) => named_user(name)?,
            (None, Some((uid, gid))) => (uid, gid),
            (None, None) => (Uid::effective(), Gid::effective()),
        };
        let gid = match (group, existing) {
            (Some(name), _) => named_group(name)?,
            (None, Some((_, gid))) => gid,
            (None, None) => user.1,
        };
        let owners = Self { uid: user.0, gid };
        owners.check()?;
        Ok(owners)
    }

    fn check(&self) -> anyhow::Result<()> {
        let caller = Uid::effective();
        if !caller.is_root() && caller != self.uid {
            bail!("only root can make a state directory for another user; run this as {}", user_name(self.uid));
        }
        membership(self.uid, self.gid).map_or(Ok(()), |problem| bail!(problem))
    }

    pub fn text(&self) -> String {
        format!("{}:{}", user_name(self.uid), group_name(self.gid))
    }
}

/// Why the owner cannot share the site with its group. `None`: it can.
pub(super) fn membership(uid: Uid, gid: Gid) -> Option<String> {
    let user = by_number(uid).filter(|user| !user.uid.is_root())?;
    let groups = groups_of(&user).ok().filter(|groups| !groups.is_empty())?;
    let group = group_name(gid);
    let advice = format!("run `usermod -aG {group} {}`", user.name);
    (!groups.contains(&gid)).then(|| format!("user {} is not in group {group}; {advice}", user.name))
}

/// The name of the owner's own group and of another user who has it, too: a group that all customers of a shared host
/// are in. `None`: it is the owner's alone, or not the owner's own.
pub(super) fn shared_own_group(uid: Uid, gid: Gid) -> Option<(String, String)> {
    by_number(uid).filter(|user| user.gid == gid && gid.as_raw() != 0)?;
    let other = other_of_group(gid, uid).ok().flatten()?;
    Some((group_name(gid), other))
}

/// Makes the calling process one of this user, with its groups. Only root can, and there is no way back.
pub(super) fn become_user(uid: Uid, gid: Gid) -> io::Result<()> {
    if let Some(user) = by_number(uid) {
        setgroups(&groups_of(&user)?)?;
        setgid(user.gid)?;
    } else {
        setgroups(&[gid])?;
        setgid(gid)?;
    }
    Ok(setuid(uid)?)
}

fn by_number(uid: Uid) -> Option<User> {
    find_user(&uid.to_string()).ok().flatten().filter(|user| user.uid == uid)
}

/// A user and the group that it has by itself.
fn named_user(name: &str) -> anyhow::Result<(Uid, Gid)> {
    let user = find_user(name).with_context(|| format!("cannot look up user {name}"))?;
    let user = user.with_context(|| format!("there is no user {name}"))?;
    Ok((user.uid, user.gid))
}

fn named_group(name: &str) -> anyhow::Result<Gid> {
    let by_number = || name.parse().ok().map(Gid::from_raw);
    let group = find_group(name).with_context(|| format!("cannot look up group {name}"))?;
    group.map(|group| group.gid).or_else(by_number).with_context(|| format!("there is no group {name}"))
}

/// A number if it has no name.
pub(super) fn user_name(uid: Uid) -> String {
    by_number(uid).map_or_else(|| uid.to_string(), |user| user.name)
}

/// A number if it has no name.
pub(super) fn group_name(gid: Gid) -> String {
    let group = find_group(&gid.to_string()).ok().flatten().filter(|group| group.gid == gid);
    group.map_or_else(|| gid.to_string(), |group| group.name)
}

/// Which group the caller has to join to look into `path`. `None`: it is no question of its group.
pub fn group_advice(path: &Path) -> Option<String> {
    let about = fs::metadata(path).ok()?;
    let (uid, gid) = (Uid::effective(), Gid::from_raw(about.gid()));
    let is_shared = about.mode() & 0o040 != 0 && about.mode() & 0o004 == 0;
    if uid.is_root() || about.uid() == uid.as_raw() || !is_shared || is_in(gid) {
        return None;
    }
    let (path, user, group) = (path.display(), user_name(uid), group_name(gid));
    if gid.as_raw() == 0 {
        return Some(format!("{path} belongs to root alone; use sudo"));
    }
    let who = format!("{user} is not in group {group}, which {path} is shared with");
    // Groups are given to a session when it begins.
    if by_number(uid).and_then(|user| groups_of(&user).ok()).is_some_and(|groups| groups.contains(&gid)) {
        return Some(format!("{user} has joined group {group} since this session began; log in again"));
    }
    Some(format!("{who}; add {user} to group {group} (`sudo usermod -aG {group} {user}`) and log in again"))
}

/// As whom the caller has to act, to do what only the owner of `path` may. `None`: it is the owner, or root.
pub fn owner_advice(path: &Path) -> Option<String> {
    let owner = Uid::from_raw(fs::metadata(path).ok()?.uid());
    let uid = Uid::effective();
    (!uid.is_root() && owner != uid)
        .then(|| user_name(owner))
        .map(|owner| format!("only {owner} may do this; run it with `sudo -u {owner}`"))
}

fn is_in(gid: Gid) -> bool {
    getegid() == gid || getgroups().is_ok_and(|groups| groups.contains(&gid))
}

/// A user and the group that it has by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
struct User {
    pub name: String,
    pub uid: Uid,
    pub gid: Gid,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct UserGroup {
    pub name: String,
    pub gid: Gid,
    members: Vec<String>,
}

/// By its name or its number.
fn find_user(key: &str) -> io::Result<Option<User>> {
    Ok(entry("passwd", key)?.as_deref().and_then(read_user))
}

/// By its name or its number.
fn find_group(key: &str) -> io::Result<Option<UserGroup>> {
    Ok(entry("group", key)?.as_deref().and_then(read_group))
}

/// All groups of a user, its own among them.
fn groups_of(user: &User) -> io::Result<Vec<Gid>> {
    match output_of("id", &["-G", "--", &user.name]) {
        Ok(text) => Ok(text.split_whitespace().filter_map(number).map(Gid::from_raw).collect()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Ok(groups_in(&fs::read_to_string("/etc/group")?, user))
        }
        Err(error) => Err(error),
    }
}

/// Another user who has this group by itself; of several the first that the host names.
fn other_of_group(gid: Gid, than: Uid) -> io::Result<Option<String>> {
    let text = match output_of("getent", &["passwd"]) {
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
    match output_of("getent", &[database, "--", key]) {
        Ok(line) => Ok(Some(line).filter(|line| !line.is_empty())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let text = fs::read_to_string(format!("/etc/{database}"))?;
            Ok(text.lines().find(|line| is_named(line, key)).map(str::to_owned))
        }
        Err(error) => Err(error),
    }
}

/// What a program says. Nothing, if it fails: `getent` does so when there is no such entry.
fn output_of(program: &str, words: &[&str]) -> io::Result<String> {
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
        let root = find_user("root").unwrap().unwrap();
        assert!(root.uid.is_root() && find_user("0").unwrap() == Some(root.clone()));
        assert!(groups_of(&root).unwrap().contains(&root.gid));
        assert_eq!(find_group("0").unwrap().unwrap().name, "root");
        assert_eq!((find_user("no-such-user").unwrap(), find_group("4294967290").unwrap()), (None, None));
        assert_eq!(find_user("--help").unwrap(), None);
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
