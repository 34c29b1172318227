//! Why a user is refused in a site, and what would help: its group, or to act as its owner.

use std::{fs, os::unix::fs::MetadataExt, path::Path};

use nix::unistd::{Gid, Uid, getegid, getgroups};

use super::{
    accounts,
    owners::{by_number, group_name, user_name},
};

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
