//! The checked configuration: what the rest of the program reads.

use std::{collections::BTreeMap, path::PathBuf, sync::OnceLock, time::Duration};

use crate::model::{
    client::{ClientNames, Network},
    limits::Limits,
    status::Outcome,
};

/// A whole `pressroom.toml`. Maps are ordered by name; parameters keep the order of the file.
#[derive(Clone, Debug)]
pub struct Config {
    /// The configuration file, absolute.
    pub file: PathBuf,
    /// Absolute.
    pub state_dir: PathBuf,
    /// Absolute path of the `SQLite` database.
    pub database: PathBuf,
    /// The IANA name of the time zone that people read and write; `None`: the system's.
    pub time_zone: Option<String>,
    /// How clients are stored that are not named by an address.
    pub client_names: ClientNames,
    pub cache: CacheRules,
    pub host: HostRules,
    pub queues: BTreeMap<String, QueueRules>,
    pub http: HttpRules,
    pub exporters: BTreeMap<String, Exporter>,
    pub schedules: BTreeMap<String, Schedule>,
    pub notify: Option<Notify>,
    pub status: StatusRules,
    pub history: HistoryRules,
    pub log: LogRules,
    /// For [`Config::broken`].
    pub broken: OnceLock<BTreeMap<String, String>>,
}

/// `[cache]`. An exporter has a copy of `ttl` and `stale` with its own values.
#[derive(Clone, Debug, PartialEq)]
pub struct CacheRules {
    /// `None`: never expires.
    pub ttl: Option<Duration>,
    pub grace: Duration,
    /// Zero for "none".
    pub stale: Duration,
    /// Bytes.
    pub max_size: u64,
    /// Bytes.
    pub min_free: u64,
}

/// `[host]`: admission on this machine, over all queues.
#[derive(Clone, Debug, PartialEq)]
pub struct HostRules {
    pub max_running: u32,
    /// Bytes.
    pub min_free_memory: u64,
}

/// `[queue.NAME]`.
#[derive(Clone, Debug, PartialEq)]
pub struct QueueRules {
    pub max_running: u32,
    pub max_queued: u64,
    pub max_per_client: u64,
    /// `None`: a client may queue new jobs as fast as it likes.
    pub new_per_client: Option<Rate>,
}

/// So many within any stretch of time of this length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    pub count: u64,
    pub window: Duration,
}

/// `http.enqueue_on`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EnqueueOn {
    Get,
    Post,
}

/// `http.sendfile`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::enum_variant_names, reason = "the header is called X-Sendfile")]
pub enum Sendfile {
    Off,
    /// The internal location in front of the path below `cache/`, such as `/internal`.
    XAccelRedirect(String),
    XSendfile(PathForm),
}

/// `http.client`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClientSource {
    /// This CGI variable, whole.
    Variable(String),
    /// `x-forwarded-for:1`: so many addresses from the end of `X-Forwarded-For`, the last being the first.
    Hop(usize),
    /// `x-forwarded-for:10.0.0.0/8`: the last address of `X-Forwarded-For` that is not one of these proxies'.
    Beyond(Vec<Network>),
}

/// `http.sendfile` with `X-Sendfile`: how the server reads the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathForm {
    /// As far as the server is known by its name.
    Known,
    /// `x-sendfile:raw`: it takes the path as it stands.
    Raw,
    /// `x-sendfile:encoded`: it decodes percent-encoding.
    Encoded,
}

/// `[http]`.
#[derive(Clone, Debug, PartialEq)]
pub struct HttpRules {
    pub enqueue_on: EnqueueOn,
    /// What names a client who has not logged in.
    pub client: ClientSource,
    pub max_wait: Duration,
    pub max_waiters: u32,
    /// `None`: visitors may not ask for a new copy; else the age below which a file counts all the same.
    pub refresh: Option<Duration>,
    /// HTTP status of `failed_unknown` and of `failed_timeout`.
    pub failed_status: (u16, u16),
    /// HTTP status of `queued` and `started` for clients that want neither a page nor JSON: 503 or 202.
    pub pending_status: u16,
    pub sendfile: Sendfile,
    pub templates: Option<PathBuf>,
}

/// What an exporter leaves behind.
#[derive(Clone, Debug, PartialEq)]
pub enum OutputKind {
    File(FileOutput),
    /// `output = "none"`: a task.
    None,
}

/// The rules for the file that an exporter makes.
#[derive(Clone, Debug, PartialEq)]
pub struct FileOutput {
    /// With its dot: `.epub`, `.tar.gz`.
    pub extension: String,
    pub content_type: String,
    pub min_size: u64,
    pub magic: Vec<u8>,
    pub ends_with: Vec<u8>,
}

/// `[exporter.NAME]`.
#[derive(Clone, Debug)]
pub struct Exporter {
    pub name: String,
    pub web: bool,
    /// `command[0]` is absolute, or a bare name to be found in `PATH`; the rest holds placeholders.
    pub command: Vec<String>,
    pub wrapper: Vec<String>,
    pub output: OutputKind,
    /// The template; `None` only for a task without one.
    pub filename: Option<String>,
    pub source: Option<String>,
    /// In the order of the file.
    pub params: Vec<Param>,
    pub queue: String,
    pub lanes: Vec<LaneRules>,
    pub ttl: Option<Duration>,
    pub stale: Duration,
    /// `timeout` and `kill_after` are in here as well.
    pub limits: Limits,
    pub limits_max: Limits,
    pub escalate: f64,
    pub max_attempts: u32,
    pub retry_delay: Duration,
    pub retry_max_delay: Duration,
    /// The outcomes that are retried.
    pub retry_on: Vec<Outcome>,
    /// `temporary` in `retry_on`: exit status 75 is retried.
    pub retry_temporary: bool,
    pub failure_ttl: Duration,
    pub failure_keep: Duration,
    /// `None`: a queued job waits for as long as it takes.
    pub queued_ttl: Option<Duration>,
    /// The same for what a schedule queues.
    pub scheduled_ttl: Option<Duration>,
    pub abandon_after: Option<Duration>,
    pub breaker: BreakerRules,
    pub env: BTreeMap<String, String>,
    /// Bytes.
    pub log_max: u64,
}

impl Exporter {
    pub fn file(&self) -> Option<&FileOutput> {
        match &self.output {
            OutputKind::File(file) => Some(file),
            OutputKind::None => None,
        }
    }

    /// A task has no file: its success is forgotten, its failure kept.
    pub fn is_task(&self) -> bool {
        self.output == OutputKind::None
    }
}

/// `breaker = { failures, pause }`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BreakerRules {
    pub failures: u32,
    pub pause: Duration,
}

/// What values a parameter may have.
#[derive(Clone, Debug, PartialEq)]
pub enum ParamKind {
    Text,
    /// The pattern's text; the whole value must match.
    Pattern(String),
    OneOf(Vec<String>),
    /// Inclusive.
    Integer(i64, i64),
}

/// `[exporter.NAME.params.PARAM]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Param {
    pub name: String,
    pub kind: ParamKind,
    pub required: bool,
    pub default: Option<String>,
    pub max_bytes: usize,
    /// Whether it changes the file.
    pub key: bool,
}

/// `[[exporter.NAME.lane]]`: another queue for some values.
#[derive(Clone, Debug, PartialEq)]
pub struct LaneRules {
    pub queue: String,
    /// All must hold.
    pub when: Vec<(String, Condition)>,
}

/// What a lane asks of one parameter.
#[derive(Clone, Debug, PartialEq)]
pub enum Condition {
    /// Inclusive bounds; `..20`, `5..`, `1..9`.
    Range(Option<i64>, Option<i64>),
    Equals(String),
}

/// `[schedule.NAME]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Schedule {
    pub name: String,
    pub exporter: String,
    pub params: BTreeMap<String, String>,
    pub every: Duration,
}

/// `[notify]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Notify {
    pub command: Vec<String>,
    pub on_failed: bool,
    pub on_ok: bool,
}

/// `[status]`: the page.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StatusRules {
    /// Whoever has not logged in sees counts.
    pub public: bool,
    /// The `REMOTE_USER`s who may act.
    pub admins: Vec<String>,
}

/// `[history]`.
#[derive(Clone, Debug, PartialEq)]
pub struct HistoryRules {
    pub keep: Duration,
    pub keep_ok_logs: Duration,
    /// Bytes of `log/` and of the history's rows together.
    pub max_size: u64,
}

/// `[log]`.
#[derive(Clone, Debug, PartialEq)]
pub struct LogRules {
    /// Absolute path of the activity log; `None`: there is none.
    pub activity: Option<PathBuf>,
    /// Bytes; a larger activity log is rotated.
    pub activity_max: u64,
}
