//! What administrators do: retry, cancel or dismiss a job; pause, resume or drain a queue.
//!
//! A browser sends forms of other sites with the administrator's login, too. So a form needs a token that only our own
//! pages have, and what a browser says about where the form comes from must not speak against it.

use std::{io::Read, os::fd::AsFd};

use super::{
    StatusHandler,
    asked::Pairs,
    csrf::Seal,
    form::{self, FORM, SAID, SAID_WORDS},
    refusal::StatusRefusal,
};
use crate::{
    admin::{
        actor,
        jobs::{cancel, dismiss, retry},
        queues,
    },
    context::Context,
    site::Site,
    store::Mode,
    web::{body, origin, query, response::Response},
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
    let form = Pairs(query::decode(&body));
    Site::open(&visit.context.config).map_err(anyhow::Error::from)?;
    let seal = form::seal(visit, &visit.context.view_store()?.view())?;
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
    if origin::is_from_elsewhere(visit.variables) {
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
            Self::Retry(job) => retry::by_id(context, *job)?,
            Self::Cancel(job) => cancel::by_id(context, *job)?,
            Self::Dismiss(job) => dismiss::by_id(context, *job)?,
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
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    let kept = query::decode(back.as_bytes()).into_iter().map(|(name, value)| (text(name), text(value)));
    let kept = kept.filter(|(name, _)| !SAID_WORDS.contains(&&**name));
    let seal = seal.of(&[SAID, user, said.as_bytes()]);
    let news = [("said".to_owned(), said.to_owned()), ("seal".to_owned(), seal)];
    let pairs: Vec<_> = kept.chain(news).collect();
    query::encode(pairs.iter().map(|(name, value)| (&**name, &**value)))
}

/// Relative to where the form was sent (RFC 9110, section 10.2.2), as all links here are: behind a proxy that shows the
/// page at another place a path would lead astray. RFC 3875 knows no relative ones, but servers hand on what they get.
fn see(query: &str) -> Response {
    Response::passing(303).with("Location", format!("?{query}")).with("Content-Length", "0")
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
