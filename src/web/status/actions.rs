//! What administrators do: retry, cancel or dismiss a job; pause, resume or drain a queue.
//!
//! A browser sends forms of other sites with the administrator's login, too. So a form needs a token that only our own
//! pages have, and what a browser says about where the form comes from must not speak against it. The sentence about what
//! was done carries such a token as well.
//!
//! The token is a hash under a key that is derived from the one that only the database has. It is bound to a purpose, a
//! user and an hour, and holds for that hour and the next.

use std::{io::Read, os::fd::AsFd};

use minijinja::{Value, context};

use super::{
    StatusHandler,
    request::{Pairs, StatusRefusal},
};
use crate::{
    admin::{actor, jobs::actions, queues},
    context::Context,
    model::clock::Stamp,
    site::Site,
    store::{Mode, View},
    web::{body, response::Response, url, variables},
};

/// What a form asks for.
#[derive(Debug, PartialEq, Eq)]
enum FormAction {
    Retry(i64),
    Cancel(i64),
    Dismiss(i64),
    Set(String, Mode),
}

/// Does what the form says, and leads back to its page.
pub(super) fn perform(visit: &StatusHandler, input: impl Read + AsFd) -> Result<Response, StatusRefusal> {
    // Before anything is refused: some servers cut the connection when nobody takes the form from them.
    let body = body::read(visit.variables, input)?;
    let user = admin(visit)?;
    let form = Pairs(url::decode(&body));
    Site::open(&visit.context.config).map_err(anyhow::Error::from)?;
    let seal = seal(visit, &visit.context.view_store()?.view())?;
    if !seal.holds(&[FORM, user], &form.get("token")?.unwrap_or_default()) {
        return Err(StatusRefusal::new(403, "the form is too old; go back, reload the page and try again"));
    }
    let deed = FormAction::of(&form)?;
    actor::is(&String::from_utf8_lossy(user));
    tracing::info!(user = %String::from_utf8_lossy(user), deed = ?deed, "asked on the status page");
    let said = deed.execute(visit.context)?;
    let back = form.get("back")?.unwrap_or_default();
    Ok(see(&address(&seal, user, &back, &said)))
}

/// Who sends the form, if it is one who may act and the browser says nothing against it.
fn admin<'a>(visit: &StatusHandler<'a>) -> Result<&'a [u8], StatusRefusal> {
    let user = visit.visitor.user.filter(|_| visit.visitor.is_admin);
    let user = user.ok_or_else(|| StatusRefusal::new(403, "only those whom status.admins names may do this"))?;
    if variables::is_from_elsewhere(visit.variables) {
        return Err(StatusRefusal::new(403, "the form comes from another site"));
    }
    Ok(user)
}

impl FormAction {
    fn of(form: &Pairs) -> Result<Self, StatusRefusal> {
        let missing = |what| StatusRefusal::new(400, format!("the form names no {what}"));
        let job = || form.get("job")?.and_then(|id| id.parse().ok()).ok_or_else(|| missing("job"));
        let queue = |mode| Ok(Self::Set(form.get("queue")?.ok_or_else(|| missing("queue"))?, mode));
        match form.get("act")?.as_deref() {
            Some("retry") => Ok(Self::Retry(job()?)),
            Some("cancel") => Ok(Self::Cancel(job()?)),
            Some("dismiss") => Ok(Self::Dismiss(job()?)),
            Some("pause") => queue(Mode::Paused),
            Some("resume") => queue(Mode::Open),
            Some("drain") => queue(Mode::Draining),
            _ => Err(missing("deed that is known")),
        }
    }

    /// The sentence that the command would print.
    fn execute(&self, context: &Context) -> Result<String, StatusRefusal> {
        let done = match self {
            Self::Retry(job) => actions::retry_by_id(context, *job)?,
            Self::Cancel(job) => actions::cancel_by_id(context, *job)?,
            Self::Dismiss(job) => actions::dismiss_by_id(context, *job)?,
            Self::Set(queue, mode) => {
                queues::set_mode(context, std::slice::from_ref(queue), *mode)?;
                Ok(queues::is_now(queue, *mode))
            }
        };
        done.map_err(|sentence| StatusRefusal::new(409, sentence))
    }
}

/// The query of the page that the form was on, with what was done. Whatever the form says, it is a query of ours.
fn address(seal: &Seal, user: &[u8], back: &str, said: &str) -> String {
    let back = url::decode(back.as_bytes());
    let kept = back.iter().map(url::lossy).filter(|(name, _)| !SAID_WORDS.contains(&&**name));
    let seal = seal.of(&[SAID, user, said.as_bytes()]);
    let news = [("said".to_owned(), said.to_owned()), ("seal".to_owned(), seal)];
    url::encode(kept.chain(news))
}

/// Relative to where the form was sent (RFC 9110, section 10.2.2), as all links here are: behind a proxy that shows the
/// page at another place a path would lead astray. RFC 3875 knows no relative ones, but servers hand on what they get.
fn see(query: &str) -> Response {
    Response::passing(303).with("Location", format!("?{query}")).with("Content-Length", "0")
}

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

const CONTEXT: &str = "pressroom 2026 seals of the status page";
/// Milliseconds.
const WINDOW: i64 = 3_600_000;

pub(super) struct Seal {
    key: [u8; 32],
    now: Stamp,
}

impl Seal {
    pub(super) fn new(site_key: &[u8; 32], now: Stamp) -> Self {
        Self { key: blake3::derive_key(CONTEXT, site_key), now }
    }

    /// Seals these parts; the first is the purpose.
    pub(super) fn of(&self, parts: &[&[u8]]) -> String {
        self.hash(parts, self.window()).to_hex().to_string()
    }

    /// Whether somebody has sealed these parts lately. Hashes are compared in constant time.
    pub(super) fn holds(&self, parts: &[&[u8]], given: &str) -> bool {
        let Ok(given) = blake3::Hash::from_hex(given) else { return false };
        let now = self.window();
        [now, now - 1].iter().any(|window| self.hash(parts, *window) == given)
    }

    const fn window(&self) -> i64 {
        self.now.0.div_euclid(WINDOW)
    }

    /// With the lengths, so that nothing moves from one part into the next.
    fn hash(&self, parts: &[&[u8]], window: i64) -> blake3::Hash {
        let mut hasher = blake3::Hasher::new_keyed(&self.key);
        hasher.update(&window.to_le_bytes());
        for part in parts {
            hasher.update(&(part.len() as u64).to_le_bytes()).update(part);
        }
        hasher.finalize()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::clock::Stamp;

    #[test]
    fn the_way_back_is_always_a_query_of_ours() {
        let seal = Seal::new(&[7; 32], Stamp(0));
        let of = |back: &str| address(&seal, b"anna", back, "a & b\r\n");
        let kept = of("page=jobs&queue=a%26b&said=lie&seal=0");
        assert!(kept.starts_with("page=jobs&queue=a%26b&said=a+%26+b%0D%0A&seal="), "{kept}");
        assert_eq!(kept.matches("said=").count(), 1);
        assert!(of("//evil.example/\r\nX: y").starts_with("%2F%2Fevil.example%2F%0D%0AX%3A+y=&said="));
    }
}

#[cfg(test)]
mod csrf_tests {
    use super::*;

    fn at(ms: i64) -> Seal {
        Seal::new(&[7; 32], Stamp(ms))
    }

    #[test]
    fn a_seal_holds_for_its_purpose_its_user_and_its_time() {
        let token = at(WINDOW).of(&[b"form", b"anna"]);
        let holds = |seal: Seal, parts: &[&[u8]]| seal.holds(parts, &token);
        assert!(holds(at(WINDOW), &[b"form", b"anna"]) && holds(at(3 * WINDOW - 1), &[b"form", b"anna"]));
        assert!(!holds(at(3 * WINDOW), &[b"form", b"anna"]) && !holds(at(WINDOW - 1), &[b"form", b"anna"]));
        assert!(!holds(at(WINDOW), &[b"form", b"bert"]) && !holds(at(WINDOW), &[b"said", b"anna"]));
        assert!(
            !holds(at(WINDOW), &[b"for", b"manna"]) && !holds(Seal::new(&[8; 32], Stamp(WINDOW)), &[b"form", b"anna"])
        );
        for wrong in ["", "0", "x", &token[1..], &format!("{token}0")] {
            assert!(!at(WINDOW).holds(&[b"form", b"anna"], wrong), "{wrong}");
        }
    }
}
