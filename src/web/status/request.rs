//! One request of the status page: which page, who looks and what that one may see and do, and why there may be none.

use crate::{
    config::StatusRules,
    exit::{Exit, Failure},
    logging,
    site::Site,
    store::StoreError,
    web::{
        problem::WebProblem,
        request::{self, Method},
        url::{self, Pair},
        variables::{self, Variables},
    },
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StatusPage {
    Overview,
    Jobs,
    History,
    /// A job, or a file that there were attempts at.
    Job,
    /// Where forms lead.
    Act,
}

impl StatusPage {
    const ALL: [Self; 5] = [Self::Overview, Self::Jobs, Self::History, Self::Job, Self::Act];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Overview => "overview",
            Self::Jobs => "jobs",
            Self::History => "history",
            Self::Job => "job",
            Self::Act => "act",
        }
    }
}

#[derive(Debug)]
pub(super) struct Asked {
    pub(super) method: Method,
    pub(super) page: StatusPage,
    pairs: Pairs,
}

impl Asked {
    pub(super) fn read(variables: &Variables) -> Result<Self, StatusRefusal> {
        let method = request::method(variables).map_err(|_| StatusRefusal::method("GET, HEAD, POST"))?;
        let pairs = Pairs(url::decode(variables.query()));
        let below = variables.bytes("PATH_INFO").is_some_and(|path| path != b"/");
        let name = pairs.get("page")?.unwrap_or_else(|| StatusPage::Overview.name().to_owned());
        let page = StatusPage::ALL.into_iter().find(|page| page.name() == name && !below);
        let page = page.ok_or_else(|| StatusRefusal::new(404, "there is no such page"))?;
        Ok(Self { method, page, pairs })
    }

    /// A word of the address; one that was left empty is none.
    pub(super) fn get(&self, name: &str) -> Result<Option<String>, StatusRefusal> {
        self.pairs.get(name)
    }

    /// The query of this page again, with other values for some words; an empty one leaves its word out.
    pub(super) fn link(&self, changed: &[(&str, &str)]) -> String {
        let kept =
            self.pairs.0.iter().map(url::lossy).filter(|(name, _)| changed.iter().all(|(other, _)| other != name));
        let changed = changed.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        url::encode(kept.chain(changed).filter(|(_, value)| !value.is_empty()))
    }
}

/// Words and their values, as a query or a form has them.
#[derive(Debug)]
pub(super) struct Pairs(pub(super) Vec<Pair>);

impl Pairs {
    /// The first value of this name that is not empty.
    pub(super) fn get(&self, name: &str) -> Result<Option<String>, StatusRefusal> {
        let given = self.0.iter().find(|(known, value)| known == name.as_bytes() && !value.is_empty());
        let read = |bytes: &Vec<u8>| String::from_utf8(bytes.clone());
        let refused = |_| StatusRefusal::new(400, format!("the value of {name} is not valid UTF-8"));
        given.map(|(_, value)| read(value)).transpose().map_err(refused)
    }
}

#[derive(Debug)]
pub(super) struct StatusRefusal {
    pub(super) status: u16,
    /// For whoever has logged in.
    pub(super) sentence: String,
    /// The methods that are answered instead (RFC 9110, section 15.5.6).
    pub(super) allow: Option<&'static str>,
}

impl StatusRefusal {
    pub(super) fn new(status: u16, sentence: impl Into<String>) -> Self {
        Self { status, sentence: sentence.into(), allow: None }
    }

    pub(super) fn method(allow: &'static str) -> Self {
        let methods = match allow.rsplit_once(", ") {
            Some((others, last)) => format!("{others} and {last} are"),
            None => format!("{allow} is"),
        };
        Self { allow: Some(allow), ..Self::new(405, format!("only {methods} answered here")) }
    }

    /// With the commands as they have to be typed for this site.
    pub(super) fn completed(self, site: &Site) -> Self {
        Self { sentence: site.with_whole_command(&self.sentence), ..self }
    }

    /// What those may read who have not logged in: nothing about this machine.
    pub(super) fn public_sentence(&self) -> &str {
        if self.status < 500 { &self.sentence } else { "the status cannot be shown just now" }
    }
}

impl From<WebProblem> for StatusRefusal {
    fn from(problem: WebProblem) -> Self {
        Self::new(problem.status(), problem.answer().reason.unwrap_or_default())
    }
}

impl From<Failure> for StatusRefusal {
    fn from(failure: Failure) -> Self {
        let sentence = failure.error.map_or_else(String::new, |error| format!("{error:#}"));
        let status = match failure.exit {
            Exit::Usage | Exit::BadValue => 400,
            Exit::Absent => 404,
            Exit::Unavailable => 503,
            _ => 500,
        };
        if status == 500 {
            logging::diagnostic_line(&sentence);
        }
        Self::new(status, sentence.trim_end())
    }
}

impl From<anyhow::Error> for StatusRefusal {
    fn from(error: anyhow::Error) -> Self {
        Failure::from(error).into()
    }
}

impl From<StoreError> for StatusRefusal {
    fn from(error: StoreError) -> Self {
        anyhow::Error::from(error).into()
    }
}

/// How much somebody may see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum VisitorSees {
    Nothing,
    /// The overview's numbers.
    Counts,
    Everything,
}

#[derive(Debug)]
pub(super) struct Visitor<'a> {
    /// As the server names whoever has logged in.
    pub(super) user: Option<&'a [u8]>,
    pub(super) sight: VisitorSees,
    pub(super) is_admin: bool,
}

impl<'a> Visitor<'a> {
    pub(super) fn of(variables: &'a Variables, rules: &StatusRules) -> Self {
        let user = variables::user(variables);
        let sight = match user {
            Some(_) => VisitorSees::Everything,
            None if rules.public => VisitorSees::Counts,
            None => VisitorSees::Nothing,
        };
        let is_admin = user.is_some_and(|user| rules.admins.iter().any(|admin| admin.as_bytes() == user));
        Self { user, sight, is_admin }
    }

    /// Whether this one may have an answer to this request at all; `None`: one that cannot be read.
    pub(super) fn may(&self, asked: Option<&Asked>) -> bool {
        match self.sight {
            VisitorSees::Nothing => false,
            VisitorSees::Counts => {
                asked.is_some_and(|asked| asked.page == StatusPage::Overview && asked.method != Method::Post)
            }
            VisitorSees::Everything => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(query: &str) -> Result<Asked, u16> {
        let variables = Variables::of(&[("REQUEST_METHOD", "GET"), ("QUERY_STRING", query)]);
        Asked::read(&variables).map_err(|refusal| refusal.status)
    }

    #[test]
    fn a_page_is_named_by_the_query() {
        assert_eq!(asked("").unwrap().page, StatusPage::Overview);
        assert_eq!(asked("page=jobs&queue=").unwrap().page, StatusPage::Jobs);
        assert_eq!(asked("page=jobs&queue=").unwrap().get("queue").unwrap(), None);
        assert_eq!(asked("page=x").unwrap_err(), 404);
        assert_eq!(asked("page=%ff").unwrap_err(), 400);
    }

    #[test]
    fn a_link_keeps_what_it_does_not_change() {
        let asked = asked("page=jobs&queue=a%26b&below=9&since=").unwrap();
        assert_eq!(asked.link(&[("below", "5")]), "page=jobs&queue=a%26b&below=5");
        assert_eq!(asked.link(&[("below", "")]), "page=jobs&queue=a%26b");
    }
}

#[cfg(test)]
mod visitor_tests {
    use super::*;

    fn visitor(user: &str, public: bool) -> (VisitorSees, bool) {
        let variables = Variables::of(&[("REMOTE_USER", user), ("HTTP_REMOTE_USER", "anna")]);
        let visitor = Visitor::of(&variables, &StatusRules { public, admins: vec!["anna".into()] });
        (visitor.sight, visitor.is_admin)
    }

    #[test]
    fn only_the_server_says_who_somebody_is() {
        assert_eq!(visitor("", false), (VisitorSees::Nothing, false));
        assert_eq!(visitor("", true), (VisitorSees::Counts, false));
        assert_eq!(visitor("bert", false), (VisitorSees::Everything, false));
        assert_eq!(visitor("anna", false), (VisitorSees::Everything, true));
        assert_eq!(visitor("Anna", true), (VisitorSees::Everything, false));
    }
}
