//! `pressroom restore`: the database becomes what it was when a backup was made.
//!
//! The backup is copied into the state directory, looked through and brought up to date there. Only then is it written
//! into the database that is there, inside its locks. A damaged database is moved aside with its log first: no file ever
//! lies beside the log of another.

use std::{
    fs::{self, File, OpenOptions, Permissions},
    io::{self, ErrorKind},
    os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use nix::libc::O_NONBLOCK;

use super::backup::{in_words, refuse_root};
use crate::{
    cli::{Global, RestoreArgs},
    context::Context,
    exit::{Exit, Failure},
    model::{clock::Stamp, failpoint},
    site::{RoundMark, Sight, Site, machine_id},
    store::{Store, StoreError},
    tick::database,
};

/// Restores it while nothing ticks and nothing runs.
pub fn run(global: &Global, args: &RestoreArgs) -> Result<(), Failure> {
    let context = Context::load(global)?;
    Site::open(&context.config).map_err(anyhow::Error::from)?;
    refuse_root(&context)?;
    let lock = quiet(&context)?;
    let stage = Stage::of(&context, &args.file)?;
    let mut backup = stage.open(&args.file)?;
    let live = live(&context)?;
    let mark = RoundMark::read(&lock);
    let last_job = prepare(&context, &mut backup, &live, mark.as_ref()).with_context(|| cannot(&args.file))?;
    let holds = backup.view().holdings().map_err(anyhow::Error::from)?;
    failpoint::at("restore-ready");
    match live {
        Live::Sound(_) => backup.replace(context.database()).map_err(|error| error.at(&context.config.database))?,
        Live::Damaged(why) => put_aside_and_replace(&context, &backup, &why)?,
    }
    note(&context, &lock, mark, &backup, last_job)?;
    println!("restored {}: {}; the next job gets id {}", args.file.display(), in_words(&holds), last_job + 1);
    Ok(())
}

fn cannot(file: &Path) -> String {
    format!("cannot restore {}", file.display())
}

/// The tick's lock, held to the end, so that nothing is started; refused while something runs.
fn quiet(context: &Context) -> Result<File, Failure> {
    let busy = |sentence: String| Err(Failure::because(Exit::Unavailable, sentence));
    let lock =
        context.site.take_tick().with_context(|| format!("cannot lock {}", context.site.tick_lock().display()))?;
    let Some(lock) = lock else {
        return busy("a tick is at work; stop cron, wait until it has ended (a minute at most), and try again".into());
    };
    for attempt in context.site.attempts_on_disk().context("cannot look for running attempts")? {
        match context.site.peek(&attempt) {
            Sight::Free | Sight::Missing => {}
            Sight::Alive => {
                return busy(format!(
                    "attempt {attempt} is running; wait for its end, or run `pressroom jobs cancel --status started --yes`"
                ));
            }
            Sight::Unverified => {
                return busy(format!("the lock of attempt {attempt} cannot be opened, so it may be running"));
            }
        }
    }
    Ok(lock)
}

/// A copy of the backup in the state directory, removed in the end.
struct Stage(PathBuf);

impl Stage {
    fn of(context: &Context, file: &Path) -> Result<Self, Failure> {
        let source = open_for_a_look(file).map_err(|error| {
            let exit = if error.kind() == ErrorKind::NotFound { Exit::Absent } else { Exit::Io };
            Failure::because(exit, format!("cannot read {}: {error}", file.display()))
        })?;
        let about = source.metadata()?;
        let bad = |what: &str| Err(Failure::because(Exit::BadValue, format!("{} {what}", file.display())));
        if !about.is_file() {
            return bad("is not a regular file");
        }
        if fs::metadata(&context.config.database)
            .is_ok_and(|live| (live.dev(), live.ino()) == (about.dev(), about.ino()))
        {
            return bad("is the database itself");
        }
        let stage = Self(context.site.state_dir().join("restore.db"));
        stage.remove();
        copy(source, &stage.0).with_context(|| cannot(file))?;
        // A file that was copied by hand together with its log is whole only with that.
        if let Ok(log) = open_for_a_look(&beside(file, "-wal"))
            && log.metadata()?.is_file()
        {
            copy(log, &beside(&stage.0, "-wal")).with_context(|| cannot(file))?;
        }
        Ok(stage)
    }

    /// Whatever is wrong with it is the backup's fault.
    fn open(&self, file: &Path) -> Result<Store, Failure> {
        let opened = Store::open_and_upgrade(&self.0);
        let bad = |why: String| Failure::because(Exit::BadValue, format!("{}: {why}", cannot(file)));
        let store = opened.map_err(|error| match error {
            StoreError::Newer(_) | StoreError::DiskFull => Failure::from(error.at(file)),
            StoreError::Missing => bad("it is empty".into()),
            StoreError::Foreign => bad("it is not a database of pressroom".into()),
            StoreError::Altered(object) => bad(format!("its schema is not pressroom's: {object} differs")),
            other => bad(other.to_string()),
        })?;
        match store.fault() {
            Ok(None) => Ok(store),
            Ok(Some(fault)) => Err(bad(format!("it is damaged ({fault})"))),
            Err(error) => Err(bad(error.to_string())),
        }
    }

    fn remove(&self) {
        // The journal of a restore that was killed; nothing is opened beside it.
        for suffix in ["", "-wal", "-shm", "-journal"] {
            let _ = fs::remove_file(beside(&self.0, suffix)); // what cannot be removed is in the way of the copy, which says so
        }
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        self.remove();
    }
}

/// A pipe that nobody writes into must not hold up the ticks.
fn open_for_a_look(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(O_NONBLOCK).open(path)
}

fn copy(mut from: File, to: &Path) -> io::Result<()> {
    let mut to = OpenOptions::new().write(true).create_new(true).mode(0o600).open(to)?;
    io::copy(&mut from, &mut to).map(drop)
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.to_owned().into_os_string();
    name.push(suffix);
    name.into()
}

/// The database that is there.
enum Live {
    /// It can be read and written; of this version, its history is.
    Sound(Option<Store>),
    /// Why it cannot.
    Damaged(String),
}

fn live(context: &Context) -> Result<Live, Failure> {
    let path = &context.config.database;
    match Store::open(context.database()) {
        Ok(store) => match store.fault() {
            Ok(None) => Ok(Live::Sound(Some(store))),
            Ok(Some(fault)) => Ok(Live::Damaged(fault)),
            Err(error) => Ok(Live::Damaged(error.to_string())),
        },
        Err(StoreError::Older(_)) => Ok(Live::Sound(None)),
        Err(error @ (StoreError::Busy | StoreError::DiskFull)) => Err(error.at(path).into()),
        Err(error) => match OpenOptions::new().read(true).write(true).open(path) {
            Err(refused) if refused.kind() != ErrorKind::NotFound => {
                Err(Failure::because(Exit::Io, format!("cannot open {}: {refused}", path.display())))
            }
            _ => Ok(Live::Damaged(error.to_string())),
        },
    }
}

/// Brings the copy up to date with the site: the highest id that is known to have been given, the attempts that have ended
/// since, this machine. The result: the id after which jobs go on.
fn prepare(context: &Context, backup: &mut Store, live: &Live, mark: Option<&RoundMark>) -> anyhow::Result<i64> {
    let mut last_job = backup.view().last_job()?.max(mark.map_or(0, |mark| mark.last_job));
    if let Live::Sound(Some(store)) = live {
        last_job = last_job.max(store.view().last_job()?);
        backup.merge_attempts(context.database())?;
    }
    backup.adopt_machine(&machine_id())?;
    database::adopt(backup, &context.site, last_job)?;
    backup.recount()?;
    Ok(backup.view().last_job()?)
}

/// The new file is complete before it gets the name, and gets it when no log of the old one is beside it any more.
fn put_aside_and_replace(context: &Context, backup: &Store, why: &str) -> Result<(), Failure> {
    let path = &context.config.database;
    let fresh = beside(path, ".restored");
    let _ = fs::remove_file(&fresh);
    let what = || format!("cannot write {}", fresh.display());
    let file = OpenOptions::new().write(true).create_new(true).mode(0o660).open(&fresh).with_context(what)?;
    file.set_permissions(Permissions::from_mode(0o660)).with_context(what)?;
    backup.copy_to(&fresh).with_context(what)?;
    let aside = beside(path, &format!(".damaged-{}", Stamp::now().0 / 1000));
    for suffix in ["", "-wal", "-shm"] {
        match fs::rename(beside(path, suffix), beside(&aside, suffix)) {
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            moved => moved.with_context(|| format!("cannot move {}{suffix} aside", path.display()))?,
        }
        failpoint::at("restore-moving");
    }
    fs::rename(&fresh, path).with_context(|| format!("cannot make {}", path.display()))?;
    Store::open_and_upgrade(context.database()).map_err(|error| error.at(path))?; // with a log from here on
    if aside.exists() {
        println!("the old database could not be used ({why}); it is kept as {}", aside.display());
    }
    Ok(())
}

/// The next tick must not take it for a database that somebody has copied back.
fn note(context: &Context, lock: &File, mark: Option<RoundMark>, backup: &Store, last_job: i64) -> Result<(), Failure> {
    let Some(mark) = mark else { return Ok(()) };
    let database = backup.view().last_tick().map_err(anyhow::Error::from)?.map_or(Stamp(0), |tick| tick.at);
    let inode = fs::metadata(&context.config.database)?.ino();
    RoundMark { database, last_job, inode, ..mark }.write(lock).context("cannot write tick.lock")?;
    Ok(())
}
