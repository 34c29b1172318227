//! The forms by which administrators act: the token that lets them in and the way back to the page.

use minijinja::{Value, context};

use super::{StatusHandler, csrf::Seal, refusal::StatusRefusal};
use crate::store::View;

/// What a token is for.
pub(super) const FORM: &[u8] = b"form";
/// What the sentence about a deed is sealed for.
pub(super) const SAID: &[u8] = b"said";

/// The parts of a sentence's address.
pub(super) const SAID_WORDS: [&str; 2] = ["said", "seal"];

/// Of this site, at this moment.
pub(super) fn seal(visit: &StatusHandler, view: &View) -> Result<Seal, StatusRefusal> {
    Ok(Seal::new(&view.client_key()?, visit.now))
}

/// What every form of a page has; `none` for those who may not act, who get no forms.
pub(super) fn values(visit: &StatusHandler, view: &View) -> Result<Value, StatusRefusal> {
    let Some(user) = visit.visitor.user.filter(|_| visit.visitor.is_admin) else { return Ok(Value::from(())) };
    let token = seal(visit, view)?.of(&[FORM, user]);
    Ok(context! { token, back => visit.asked.link(&SAID_WORDS.map(|word| (word, ""))) })
}

/// The sentence about what was done before this page, if it is ours.
pub(super) fn said(visit: &StatusHandler, view: &View) -> Result<Option<String>, StatusRefusal> {
    let (said, given) = (visit.asked.get("said")?, visit.asked.get("seal")?);
    let Some(((said, given), user)) = said.zip(given).zip(visit.visitor.user) else { return Ok(None) };
    let is_ours = seal(visit, view)?.holds(&[SAID, user, said.as_bytes()], &given);
    Ok(is_ours.then_some(said))
}
