//! Who gives a command.

use nix::unistd::Uid;

/// The name of whoever gives a command on the command line: behind sudo, the one who called it. For the record only:
/// it is what the environment says.
pub fn name() -> String {
    let variable = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
    let own = variable("LOGNAME").or_else(|| variable("USER")).unwrap_or_else(|| format!("user {}", Uid::effective()));
    match variable("SUDO_USER") {
        Some(user) => format!("{user} as {own}"),
        None => own,
    }
}
