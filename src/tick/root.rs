//! Exporters must not run as root, so neither may the tick that starts them.

use nix::unistd::Uid;

use crate::{
    context::Context,
    exit::{Exit, Failure},
};

/// Refuses root, naming the user to become, unless that was asked for and the site is root's.
pub fn refuse(context: &Context, allowed: bool) -> Result<(), Failure> {
    if !Uid::effective().is_root() {
        return Ok(());
    }
    let advice = match context.site.owner() {
        // Whatever root leaves there the owner could neither publish into nor sweep.
        Ok(owner) if !context.site.is_owner() => format!("become {owner}"),
        _ if allowed => return Ok(()),
        _ => "become the user of the crontab, or give --allow-root in a container".to_owned(),
    };
    Err(Failure::because(Exit::Config, format!("exporters must not run as root; {advice}")))
}
