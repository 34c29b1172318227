//! What keeps requests or ticks from working in a state directory that is there: one sentence each, the same for `status`
//! and for the command that is stopped by it.
//!
//! The kernel is asked, as far as it answers for the site's owner: what root may do says nothing about the crontab's user.
//!
//! What a tick has met is kept for `status`, since cron's mail may go to another one than who looks.

use std::{
    fs::{self, Metadata, OpenOptions, Permissions},
    io::{self, ErrorKind, Read, Write},
    os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
};

use nix::{
    errno::Errno,
    unistd::{AccessFlags, Gid, Uid, access},
};

use super::{
    CREATE, Site,
    dir::{FileKind, open_regular},
    disk,
    inspect::wrong_mode,
    layout::{self, Item},
    lock::absent_is_fine,
    owners::{group_name, user_name},
};
use crate::config::Config;

impl Site {
    /// What keeps jobs from being queued and ticks from working.
    pub fn queue_refusal(&self, config: &Config) -> Option<String> {
        let needed = layout::items(self, config).into_iter().filter(|item| {
            let kept = [self.queue(), config.database.clone()];
            kept.contains(&item.path)
        });
        let there = [layout::companions(self, config), vec![layout::tick_lock(self)]].concat();
        let there = there.into_iter().filter(|item| item.path.symlink_metadata().is_ok());
        needed.chain(there).find_map(|item| self.refusal(&item))
    }

    /// What keeps every export from being started or published.
    pub fn export_refusal(&self, config: &Config) -> Option<String> {
        let needed = layout::items(self, config);
        let mut needed = needed.into_iter().filter(|item| [self.work(), self.cache()].contains(&item.path));
        needed.find_map(|item| self.refusal(&item)).or_else(|| self.split(&self.cache()))
    }

    /// What keeps exports from having a log.
    pub fn log_refusal(&self, config: &Config) -> Option<String> {
        layout::items(self, config).iter().find(|item| item.path == self.log()).and_then(|item| self.refusal(item))
    }

    /// What keeps the exports of one exporter from being published. `None` also if its directory is not there yet.
    pub fn exporter_refusal(&self, exporter: &str) -> Option<String> {
        let item = layout::shelf(self, exporter);
        let is_there = item.path.symlink_metadata().is_ok();
        is_there.then(|| self.refusal(&item).or_else(|| self.split(&item.path))).flatten()
    }

    /// Publishing gives a file of `work/` another name.
    fn split(&self, dir: &Path) -> Option<String> {
        disk::are_apart(&self.work(), dir).then(|| disk::apart(&self.work(), dir))
    }

    /// Why one of them cannot be used. What another user may not look at is not judged.
    fn refusal(&self, item: &Item) -> Option<String> {
        let top = fs::metadata(&self.state_dir).ok()?;
        let about = match fs::symlink_metadata(&item.path) {
            Ok(about) => about,
            Err(error) => return self.absence(item, &error),
        };
        let label = item.path.display();
        if FileKind::from(about.file_type()) != item.kind && !about.is_symlink() {
            let kind = layout::word(item.kind);
            return Some(format!("{label} is not {kind}; move it away and {}", self.remedy()));
        }
        let denied = access(&item.path, needs(item)).err();
        let us = Uid::effective();
        let is_judge = us.is_root() || us.as_raw() == top.uid() || item.shared;
        match denied {
            Some(Errno::EACCES) if !is_judge => None,
            Some(Errno::EACCES) => Some(self.wrong(item, &about, &top).unwrap_or_else(|| {
                let advice = if us.as_raw() == top.uid() { self.remedy_by_root() } else { stranger(&top) };
                format!("{label} cannot be written: {}; {advice}", Errno::EACCES.desc())
            })),
            Some(Errno::EROFS) => {
                Some(format!("{label} cannot be written: {}; mount it for writing", Errno::EROFS.desc()))
            }
            Some(error) => Some(format!("{label} cannot be written: {}", error.desc())),
            None if us.is_root() => self.wrong(item, &about, &top),
            None => None,
        }
    }

    fn absence(&self, item: &Item, error: &io::Error) -> Option<String> {
        let label = item.path.display();
        match error.kind() {
            ErrorKind::PermissionDenied => None,
            ErrorKind::NotFound => Some(format!("{label} is missing; {}", self.remedy())),
            _ => Some(format!("cannot look at {label}: {error}")),
        }
    }

    /// What its owner and mode keep the site's owner, or its group, from.
    fn wrong(&self, item: &Item, about: &Metadata, top: &Metadata) -> Option<String> {
        let label = item.path.display();
        let (as_owner, as_group) = (item.mode & 0o700, item.mode & 0o070);
        if item.shared && about.gid() != top.gid() {
            let (is, should) = (group_name(Gid::from_raw(about.gid())), group_name(Gid::from_raw(top.gid())));
            return Some(format!("{label} belongs to group {is}, not {should}; {}", self.remedy_by_root()));
        }
        if !item.shared && about.uid() != top.uid() {
            let (is, should) = (user_name(Uid::from_raw(about.uid())), user_name(Uid::from_raw(top.uid())));
            return Some(format!("{label} belongs to user {is}, not {should}; {}", self.remedy_by_root()));
        }
        let needed = if item.shared { as_owner | as_group } else { as_owner };
        let is = about.mode() & 0o7777;
        (is & needed != needed).then(|| wrong_mode(&item.path, is, item.mode, &self.remedy()))
    }

    /// The sentence with the command as the caller has to type it, where it names [`CREATE`].
    pub fn with_whole_command(&self, sentence: &str) -> String {
        let bare = format!("run {CREATE}");
        if sentence.contains(&bare) { sentence.replace(&bare, &self.remedy()) } else { sentence.to_owned() }
    }

    /// What puts owners and modes right, as the caller has to type it: "run `…`".
    pub fn remedy(&self) -> String {
        let is_owner = fs::metadata(&self.state_dir).is_ok_and(|top| top.uid() == Uid::effective().as_raw());
        if is_owner && !Uid::effective().is_root() {
            return format!("run `pressroom check --create{}`", self.config_words());
        }
        self.remedy_by_root()
    }

    /// The same where only root can.
    pub(super) fn remedy_by_root(&self) -> String {
        let sudo = if Uid::effective().is_root() { "" } else { "sudo " };
        let config = self.config_words();
        match fs::metadata(&self.state_dir) {
            Ok(top) => {
                let (user, group) = (user_name(Uid::from_raw(top.uid())), group_name(Gid::from_raw(top.gid())));
                format!("run `{sudo}pressroom check --create --user {user} --group {group}{config}`")
            }
            Err(_) => format!("run `pressroom check --create{config}`"),
        }
    }

    /// sudo passes no variables on.
    fn config_words(&self) -> String {
        self.config_file.as_ref().map_or_else(String::new, |file| format!(" --config {}", file.display()))
    }
}

/// For a caller who has no rights here.
fn stranger(top: &Metadata) -> String {
    let (owner, group) = (user_name(Uid::from_raw(top.uid())), group_name(Gid::from_raw(top.gid())));
    format!("use `sudo -u {owner} pressroom …`, or join group {group}")
}

fn needs(item: &Item) -> AccessFlags {
    let both = AccessFlags::R_OK | AccessFlags::W_OK;
    if item.kind == FileKind::Directory { both | AccessFlags::X_OK } else { both }
}

/// The configuration, if it is not where it is looked for.
pub(super) fn unusual(file: &Path) -> Option<PathBuf> {
    (file != Path::new(crate::config::FILE)).then(|| file.to_owned())
}

/// Bytes of the sentence that are read.
const MOST: u64 = 4096;

impl Site {
    fn refused(&self) -> PathBuf {
        self.state_dir().join("tick.refused")
    }

    /// Nothing can be started, for this reason; `None`: that is over. Whoever is in the group may read it.
    pub fn note_refused(&self, why: Option<&str>) -> io::Result<()> {
        let Some(why) = why else {
            return absent_is_fine(fs::remove_file(self.refused()));
        };
        let mut how = OpenOptions::new();
        let mut file = open_regular(&self.refused(), how.write(true).create(true).truncate(true).mode(0o640))?;
        file.set_permissions(Permissions::from_mode(0o640))?; // whatever the umask is
        file.write_all(why.as_bytes())
    }

    /// Why the last round could start nothing.
    pub fn noted_refused(&self) -> Option<String> {
        let file = open_regular(&self.refused(), OpenOptions::new().read(true)).ok()?;
        let mut text = String::new();
        file.take(MOST).read_to_string(&mut text).ok()?;
        Some(text).filter(|text| !text.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::Site;

    #[test]
    fn it_is_noted_until_it_is_over() {
        let dir = tempfile::tempdir().unwrap();
        let site = Site::new(dir.path().to_owned());
        assert_eq!(site.noted_refused(), None);
        site.note_refused(Some("too many processes; and a long reason")).unwrap();
        site.note_refused(Some("memory is short")).unwrap();
        assert_eq!(site.noted_refused().as_deref(), Some("memory is short"));
        site.note_refused(None).unwrap();
        site.note_refused(None).unwrap();
        assert_eq!(site.noted_refused(), None);
    }
}
