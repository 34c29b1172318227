//! `pressroom backup` and `pressroom restore`.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
#[command(
    after_help = "Exit status: 0 the backup is complete and on the disk, 65 FILE is there already, 64 wrong usage, \
69 the database is busy, 74 I/O, 78 configuration or database, or run as root."
)]
pub struct BackupArgs {
    /// Where to save it; readable by its owner alone
    pub file: PathBuf,
    /// Replace FILE if it is there
    #[arg(long)]
    pub force: bool,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Exit status: 0 the database is restored, 65 FILE cannot be restored, 66 there is no FILE, 64 wrong usage, \
69 a tick or an export is running, 74 I/O, 78 configuration, a newer database, or run as root."
)]
pub struct RestoreArgs {
    /// What `pressroom backup` has saved
    pub file: PathBuf,
}
