//! Whom a state directory belongs to; why a user is refused in it, and what would help: its group, or to act as its owner.

use std::{fs, io, os::unix::fs::MetadataExt, path::Path};

use anyhow::{Context as _, bail};
use nix::unistd::{Gid, Uid, getegid, getgroups, setgid, setgroups, setuid};

use super::accounts::{self, User};

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
    let groups = accounts::groups_of(&user).ok().filter(|groups| !groups.is_empty())?;
    let group = group_name(gid);
    let advice = format!("run `usermod -aG {group} {}`", user.name);
    (!groups.contains(&gid)).then(|| format!("user {} is not in group {group}; {advice}", user.name))
}

/// The name of the owner's own group and of another user who has it, too: a group that all customers of a shared host
/// are in. `None`: it is the owner's alone, or not the owner's own.
pub(super) fn shared_own_group(uid: Uid, gid: Gid) -> Option<(String, String)> {
    by_number(uid).filter(|user| user.gid == gid && gid.as_raw() != 0)?;
    let other = accounts::other_of_group(gid, uid).ok().flatten()?;
    Some((group_name(gid), other))
}

/// Makes the calling process one of this user, with its groups. Only root can, and there is no way back.
pub(super) fn become_user(uid: Uid, gid: Gid) -> io::Result<()> {
    if let Some(user) = by_number(uid) {
        setgroups(&accounts::groups_of(&user)?)?;
        setgid(user.gid)?;
    } else {
        setgroups(&[gid])?;
        setgid(gid)?;
    }
    Ok(setuid(uid)?)
}

pub(super) fn by_number(uid: Uid) -> Option<User> {
    accounts::user(&uid.to_string()).ok().flatten().filter(|user| user.uid == uid)
}

/// A user and the group that it has by itself.
fn named_user(name: &str) -> anyhow::Result<(Uid, Gid)> {
    let user = accounts::user(name).with_context(|| format!("cannot look up user {name}"))?;
    let user = user.with_context(|| format!("there is no user {name}"))?;
    Ok((user.uid, user.gid))
}

fn named_group(name: &str) -> anyhow::Result<Gid> {
    let by_number = || name.parse().ok().map(Gid::from_raw);
    let group = accounts::group(name).with_context(|| format!("cannot look up group {name}"))?;
    group.map(|group| group.gid).or_else(by_number).with_context(|| format!("there is no group {name}"))
}

/// A number if it has no name.
pub(super) fn user_name(uid: Uid) -> String {
    by_number(uid).map_or_else(|| uid.to_string(), |user| user.name)
}

/// A number if it has no name.
pub(super) fn group_name(gid: Gid) -> String {
    let group = accounts::group(&gid.to_string()).ok().flatten().filter(|group| group.gid == gid);
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
    if by_number(uid).and_then(|user| accounts::groups_of(&user).ok()).is_some_and(|groups| groups.contains(&gid)) {
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
