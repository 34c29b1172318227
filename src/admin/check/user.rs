//! Who checks: what root may do says nothing about the user of the crontab.

use nix::unistd::{AccessFlags, Uid, access};

use super::Findings;
use crate::context::Context;

/// Root becomes the owner of the site for the rest of the check. Anybody else is told whose check it should be.
pub fn become_owner(context: &Context, found: &mut Findings) {
    let Ok(owner) = context.site.owner() else { return };
    match context.site.become_owner() {
        Ok(false) if !Uid::effective().is_root() => told(context, &owner, found),
        Ok(_) => {}
        Err(error) => found.warnings.push(format!("cannot become {owner} for the check ({error}); run it as {owner}")),
    }
    let file = &context.config.file;
    if access(file, AccessFlags::R_OK).is_err() {
        let file = file.display();
        found.problems.push(format!("{file} cannot be read by {owner}; give it to a group that {owner} is in"));
    }
}

fn told(context: &Context, owner: &str, found: &mut Findings) {
    if !context.site.is_owner() {
        let sentence = "whether exporters' commands can be executed was seen for this user only";
        found.warnings.push(format!("{sentence}; run this as {owner}, whose crontab ticks"));
    }
}
