//! What every command begins with: the configuration and the places that it names; and what a user who is refused there
//! has to do, said behind the refusal.

use std::{
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
};

use super::{
    cache::Cache,
    cli::Global,
    config::{self, Config, ConfigError, Identity},
    exit::{Exit, Failure},
    logging,
    model::moment,
    site::{self, ActivityEvent, ActivityLog, Site},
    store::{self, Listener, Store, StoreError},
    supervise,
};

/// The configuration, read once, and the state directory that it names; nothing there has been looked at yet.
pub struct Context {
    pub config: Config,
    pub site: Site,
    pub cache: Cache,
    /// The configuration as it was read.
    pub text: String,
    /// And the file that it was read from.
    pub read: Identity,
    /// The file has been broken since: runs are given the text that is in force.
    pub is_outdated: bool,
}

impl Context {
    pub fn load(global: &Global) -> Result<Self, Failure> {
        Self::read(&config::locate(global.config.as_deref())).map_err(|error| Failure::new(Exit::Config, error))
    }

    /// By the configuration in this file.
    pub fn read(file: &Path) -> Result<Self, ConfigError> {
        let (text, read) = config::read_text(file)?;
        Self::by(file, text, read)
    }

    /// For a run: where the file is broken, by the text that its tick has handed over.
    pub fn load_or(global: &Global, text: Option<String>) -> Result<Self, Failure> {
        let loaded = Self::load(global);
        let (Err(_), Some(text)) = (&loaded, text) else { return loaded };
        let file = config::locate(global.config.as_deref());
        Self::by(&file, text, Identity::none()).or(loaded)
    }

    fn by(file: &Path, text: String, read: Identity) -> Result<Self, ConfigError> {
        let config = config::parse(file, &text)?;
        moment::configure_zone(config.time_zone.as_deref());
        let site = Site::of(&config);
        let cache = Cache::new(site.cache());
        Ok(Self { config, site, cache, text, read, is_outdated: false })
    }

    /// The path of the database, for who opens it now: from here on SQLite removes nothing but what belongs to it. A hit
    /// does not come here.
    pub fn database(&self) -> &Path {
        supervise::guard_database(&self.config.database);
        &self.config.database
    }

    /// The database for a look: it is not changed. Where reading it alone does not do, as after a crash that left its
    /// log without an index, it is opened as for writing.
    pub fn view_store(&self) -> Result<Store, Failure> {
        Store::open_readonly(self.database()).or_else(|_| self.open_store())
    }

    /// The database, which only `check --create` makes.
    pub fn open_store(&self) -> Result<Store, Failure> {
        self.opened(Store::open)
    }

    /// The same for a request, which runs as the web user.
    pub fn open_store_for_request(&self) -> Result<Store, Failure> {
        self.opened(Store::open_unverified)
    }

    /// The same for a tick, which upgrades a database of an earlier version.
    pub fn open_store_for_tick(&self) -> Result<Store, Failure> {
        self.opened(Store::open_and_upgrade)
    }

    /// Writes what `store` commits from here on into the activity log. For ticks and runs: that log is theirs alone.
    pub fn keep_activity(&self, store: &mut Store) {
        store.listen(self.activity().map(|log| -> Listener { Box::new(move |events| write(&log, events)) }));
    }

    /// Writes events that no transaction tells into the activity log.
    pub fn tell(&self, events: &[ActivityEvent]) {
        if let Some(log) = self.activity().filter(|_| !events.is_empty()) {
            write(&log, events);
        }
    }

    fn activity(&self) -> Option<ActivityLog> {
        let rules = &self.config.log;
        rules.activity.clone().map(|path| ActivityLog::new(path, rules.activity_max))
    }

    /// On a disk that is so full that the database cannot even be opened, the reserve is given up.
    fn opened(&self, open: impl Fn(&Path) -> store::Result<Store>) -> Result<Store, Failure> {
        let open = || {
            if site::index_may_fault(&self.site.queue()) { Err(StoreError::DiskFull) } else { open(self.database()) }
        };
        let opened = match open() {
            Err(StoreError::DiskFull) if self.site.give_up_reserve().unwrap_or(false) => open(),
            opened => opened,
        };
        opened.map_err(|error| match error {
            StoreError::Missing => Failure::because(
                Exit::Config,
                self.no_site().unwrap_or_else(|| format!("there is no database yet; {}", self.site.remedy())),
            ),
            error => self.instead(error.at(&self.config.database).into(), None),
        })
    }

    fn no_site(&self) -> Option<String> {
        Site::open(&self.config).err().map(|error| error.to_string())
    }

    /// What keeps the site from being used, in place of what a command has met by that: the sentence that `status` has for
    /// it, too. Without such a reason the failure stays what it is.
    pub fn instead(&self, failure: Failure, exporter: Option<&str>) -> Failure {
        let (site, config) = (&self.site, &self.config);
        let of_exports = |exporter| site.export_refusal(config).or_else(|| site.exporter_refusal(exporter));
        let refusal =
            || self.no_site().or_else(|| site.queue_refusal(config)).or_else(|| exporter.and_then(of_exports));
        match failure.exit {
            Exit::Io => refusal().map_or(failure, |sentence| Failure::because(Exit::Io, sentence)),
            _ => failure,
        }
    }
}

/// A log that cannot be written is reported once by each process, and nothing depends on it (invariant 12).
fn write(log: &ActivityLog, events: &[ActivityEvent]) {
    static TOLD: AtomicBool = AtomicBool::new(false);
    let lines = events.iter().filter_map(|event| serde_json::to_string(event).ok());
    let text: String = lines.map(|line| line + "\n").collect();
    if let Err(error) = log.append(&text)
        && !TOLD.swap(true, Ordering::Relaxed)
    {
        logging::diagnostic_line(format!("cannot write the activity log {}: {error}", log.path().display()));
    }
}

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
