//! What a user who is refused has to do, said behind the refusal.

use std::path::Path;

use crate::{
    cli::Global,
    config,
    exit::Failure,
    site::{self, Site},
};

/// Who is meant to give a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// Whoever is in the group that the site is shared with.
    Group,
    /// The same, though some of it only the owner of the site may.
    Admin,
    /// The user of the crontab.
    Owner,
}

/// The failure with that advice, if it is about permissions.
pub fn explained(failure: Failure, global: &Global, by: By) -> Failure {
    let file = config::locate(global.config.as_deref());
    match config::load(&file) {
        Ok(config) => at(failure, &Site::of(&config), by),
        Err(_) => with(failure, || advice(&file, By::Group)),
    }
}

/// The same for a web server's user, who is in this site.
pub fn explained_at(failure: Failure, site: &Site) -> Failure {
    at(failure, site, By::Group)
}

fn at(failure: Failure, site: &Site, by: By) -> Failure {
    let failure = with(failure, || advice(site.state_dir(), by));
    let text = text(&failure);
    let whole = site.with_whole_command(&text);
    if whole == text { failure } else { Failure::because(failure.exit, whole) }
}

/// What says already as whom to act needs no advice.
fn with(failure: Failure, advice: impl FnOnce() -> Option<String>) -> Failure {
    let text = text(&failure);
    if !text.to_ascii_lowercase().contains("permission denied") || text.contains("`sudo ") {
        return failure;
    }
    match advice() {
        Some(advice) => Failure::because(failure.exit, format!("{text}; {advice}")),
        None => failure,
    }
}

fn text(failure: &Failure) -> String {
    failure.error.as_ref().map(|error| format!("{error:#}")).unwrap_or_default()
}

/// What would help one who is refused in this place.
pub fn advice(path: &Path, by: By) -> Option<String> {
    let group = site::group_advice(path);
    let owner = site::owner_advice(path);
    match by {
        By::Group => group,
        By::Admin => group.or(owner),
        By::Owner => owner.or(group),
    }
}
