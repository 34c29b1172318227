//! What administrators do: retry, cancel or dismiss a job; pause, resume or drain a queue.
//!
//! A browser sends the forms of other sites with the administrator's login, too (cross-site request forgery). So a form
//! needs a CSRF token, which only our own pages have, and the browser must not say that it comes from another site. The
//! notice of what was done carries a token as well, so that no link can show a notice that is not ours.

use std::{io::Read, os::fd::AsFd};

use minijinja::{Value, context};

use super::{
    StatusHandler,
    auth::TokenSigner,
    request::{Pairs, StatusRefusal},
};
use crate::{
    admin::{actor, jobs::actions, queues},
    context::Context,
    site::Site,
    store::{Mode, View},
    web::{body, response::Response, url, variables},
};

/// What a form requests.
#[derive(Debug, PartialEq, Eq)]
enum FormAction {
    Retry(i64),
    Cancel(i64),
    Dismiss(i64),
    Set(String, Mode),
}

/// Carries out the form's action and leads back to its page.
pub(super) fn perform(handler: &StatusHandler, input: impl Read + AsFd) -> Result<Response, StatusRefusal> {
    // Before anything is refused: some servers cut the connection when the form is not read.
    let body = body::read(handler.variables, input)?;
    let user = admin(handler)?;
    let form = Pairs(url::decode(&body));
    Site::open(&handler.context.config).map_err(anyhow::Error::from)?;
    let signer = signer(handler, &handler.context.view_store()?.view())?;
    if !signer.is_valid(&[FORM, user], &form.get("token")?.unwrap_or_default()) {
        return Err(StatusRefusal::new(403, "the form is too old; go back, reload the page and try again"));
    }
    let action = FormAction::of(&form)?;
    actor::is(&String::from_utf8_lossy(user));
    tracing::info!(user = %String::from_utf8_lossy(user), action = ?action, "requested on the status page");
    let notice = action.execute(handler.context)?;
    let back = form.get("back")?.unwrap_or_default();
    Ok(see_other(&query_with_notice(&signer, user, &back, &notice)))
}

/// The user who sends the form: an administrator, and not by way of another site.
fn admin<'a>(handler: &StatusHandler<'a>) -> Result<&'a [u8], StatusRefusal> {
    let user = handler.visitor.user.filter(|_| handler.visitor.is_admin);
    let user = user.ok_or_else(|| StatusRefusal::new(403, "only users listed in admins in [status] may do this"))?;
    if variables::is_from_elsewhere(handler.variables) {
        return Err(StatusRefusal::new(403, "the form was sent from another site"));
    }
    Ok(user)
}

impl FormAction {
    fn of(form: &Pairs) -> Result<Self, StatusRefusal> {
        let missing = |what| StatusRefusal::new(400, format!("the form contains no {what}"));
        let job = || form.get("job")?.and_then(|id| id.parse().ok()).ok_or_else(|| missing("job"));
        let queue = |mode| Ok(Self::Set(form.get("queue")?.ok_or_else(|| missing("queue"))?, mode));
        match form.get("act")?.as_deref() {
            Some("retry") => Ok(Self::Retry(job()?)),
            Some("cancel") => Ok(Self::Cancel(job()?)),
            Some("dismiss") => Ok(Self::Dismiss(job()?)),
            Some("pause") => queue(Mode::Paused),
            Some("resume") => queue(Mode::Open),
            Some("drain") => queue(Mode::Draining),
            _ => Err(missing("known action")),
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

/// The query of the page that the form was on, with a notice of what was done. Whatever `back` says, this is a query of ours.
fn query_with_notice(signer: &TokenSigner, user: &[u8], back: &str, notice: &str) -> String {
    let back = url::decode(back.as_bytes());
    let kept = back.iter().map(url::lossy).filter(|(name, _)| !NOTICE_PARAMETERS.contains(&&**name));
    let token = signer.sign(&[NOTICE, user, notice.as_bytes()]);
    let added = NOTICE_PARAMETERS.map(str::to_owned).into_iter().zip([notice.to_owned(), token]);
    url::encode(kept.chain(added))
}

/// Relative to where the form was sent (RFC 9110, section 10.2.2), as all links here are: behind a proxy that shows the
/// page at another place a path would lead astray. RFC 3875 knows no relative ones, but servers hand on what they get.
fn see_other(query: &str) -> Response {
    Response::no_store(303).with("Location", format!("?{query}")).with("Content-Length", "0")
}

/// What a form's token is for.
const FORM: &[u8] = b"form";
/// What a notice's token is for.
const NOTICE: &[u8] = b"notice";

/// The parameters that bring a notice to the page after an action.
const NOTICE_PARAMETERS: [&str; 2] = ["notice", "notice_token"];

fn signer(handler: &StatusHandler, view: &View) -> Result<TokenSigner, StatusRefusal> {
    Ok(TokenSigner::new(&view.client_key()?, handler.now))
}

/// The fields of every form of a page; `none` for visitors who may not act, who get no forms.
pub(super) fn form_fields(handler: &StatusHandler, view: &View) -> Result<Value, StatusRefusal> {
    let Some(user) = handler.visitor.user.filter(|_| handler.visitor.is_admin) else { return Ok(Value::from(())) };
    let token = signer(handler, view)?.sign(&[FORM, user]);
    Ok(context! { token, back => handler.request.link(&NOTICE_PARAMETERS.map(|word| (word, ""))) })
}

/// The notice of the action that led to this page, if it is ours.
pub(super) fn notice(handler: &StatusHandler, view: &View) -> Result<Option<String>, StatusRefusal> {
    let (notice, token) = (handler.request.get("notice")?, handler.request.get("notice_token")?);
    let Some(((notice, token), user)) = notice.zip(token).zip(handler.visitor.user) else { return Ok(None) };
    let is_ours = signer(handler, view)?.is_valid(&[NOTICE, user, notice.as_bytes()], &token);
    Ok(is_ours.then_some(notice))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::clock::Stamp;

    #[test]
    fn the_way_back_is_always_a_query_of_ours() {
        let signer = TokenSigner::new(&[7; 32], Stamp(0));
        let of = |back: &str| query_with_notice(&signer, b"anna", back, "a & b\r\n");
        let kept = of("page=jobs&queue=a%26b&notice=lie&notice_token=0");
        assert!(kept.starts_with("page=jobs&queue=a%26b&notice=a+%26+b%0D%0A&notice_token="), "{kept}");
        assert_eq!(kept.matches("notice=").count(), 1);
        assert!(of("//evil.example/\r\nX: y").starts_with("%2F%2Fevil.example%2F%0D%0AX%3A+y=&notice="));
    }
}
