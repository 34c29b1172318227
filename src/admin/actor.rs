//! Who this process acts for: one request of the status page, or one command.

use std::sync::OnceLock;

use nix::unistd::Uid;

use crate::{model::clock::Stamp, store::Tx};

static ACTOR: OnceLock<String> = OnceLock::new();

/// From here on the process acts for this user, whom the web server has let in.
pub fn is(user: &str) {
    let _ = ACTOR.set(user.to_owned());
}

/// Keeps what was done, as part of the transaction that does it.
pub fn note(tx: &Tx, sentence: &str) -> anyhow::Result<()> {
    Ok(tx.note_action(Stamp::now(), ACTOR.get_or_init(of_command), sentence)?)
}

/// Behind sudo the one who called it. For the record only: it is what the environment says.
fn of_command() -> String {
    let variable = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
    let own = variable("LOGNAME").or_else(|| variable("USER")).unwrap_or_else(|| format!("user {}", Uid::effective()));
    match variable("SUDO_USER") {
        Some(user) => format!("{user} as {own}"),
        None => own,
    }
}
