//! Whom a state directory belongs to.

use std::ffi::CString;

use anyhow::{Context, bail};
use nix::{
    errno::Errno,
    unistd::{Gid, Group, Uid, User, getgrouplist, initgroups, setgid, setgroups, setuid},
};

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
    let user = User::from_uid(uid).ok().flatten().filter(|user| !user.uid.is_root())?;
    let groups = getgrouplist(&CString::new(user.name.clone()).ok()?, user.gid).ok()?;
    let group = group_name(gid);
    let advice = format!("run `usermod -aG {group} {}`", user.name);
    (!groups.contains(&gid)).then(|| format!("user {} is not in group {group}; {advice}", user.name))
}

/// Makes the calling process one of this user, with its groups. Only root can, and there is no way back.
pub(super) fn become_user(uid: Uid, gid: Gid) -> nix::Result<()> {
    if let Some(user) = User::from_uid(uid)? {
        initgroups(&CString::new(user.name).map_err(|_| Errno::EINVAL)?, user.gid)?;
        setgid(user.gid)?;
    } else {
        setgroups(&[gid])?;
        setgid(gid)?;
    }
    setuid(uid)
}

/// A user and the group that it has by itself.
fn named_user(name: &str) -> anyhow::Result<(Uid, Gid)> {
    let by_number = || name.parse().ok().and_then(|uid| User::from_uid(Uid::from_raw(uid)).ok()?);
    let user = User::from_name(name).with_context(|| format!("cannot look up user {name}"))?;
    let user = user.or_else(by_number).with_context(|| format!("there is no user {name}"))?;
    Ok((user.uid, user.gid))
}

fn named_group(name: &str) -> anyhow::Result<Gid> {
    let by_number = || name.parse().ok().map(Gid::from_raw);
    let group = Group::from_name(name).with_context(|| format!("cannot look up group {name}"))?;
    group.map(|group| group.gid).or_else(by_number).with_context(|| format!("there is no group {name}"))
}

/// A number if it has no name.
pub(super) fn user_name(uid: Uid) -> String {
    User::from_uid(uid).ok().flatten().map_or_else(|| uid.to_string(), |user| user.name)
}

/// A number if it has no name.
pub(super) fn group_name(gid: Gid) -> String {
    Group::from_gid(gid).ok().flatten().map_or_else(|| gid.to_string(), |group| group.name)
}
