//! One request of the status page: which page and with which parameters, and why there may be no answer to it.

use crate::{
    exit::{Exit, Failure},
    logging,
    site::Site,
    store::StoreError,
    web::{
        problem::WebProblem,
        request::{self, Method},
        url::{self, Pair},
        variables::Variables,
    },
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StatusPage {
    Overview,
    Jobs,
    History,
    /// A job, or a file that has had attempts.
    Job,
    /// What forms are sent to.
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
pub(super) struct StatusRequest {
    pub(super) method: Method,
    pub(super) page: StatusPage,
    pairs: Pairs,
}

impl StatusRequest {
    pub(super) fn read(variables: &Variables) -> Result<Self, StatusRefusal> {
        let method = request::method(variables).map_err(|_| StatusRefusal::method("GET, HEAD, POST"))?;
        let pairs = Pairs(url::decode(variables.query()));
        let below = variables.bytes("PATH_INFO").is_some_and(|path| path != b"/");
        let name = pairs.get("page")?.unwrap_or_else(|| StatusPage::Overview.name().to_owned());
        let page = StatusPage::ALL.into_iter().find(|page| page.name() == name && !below);
        let page = page.ok_or_else(|| StatusRefusal::new(404, "there is no such page"))?;
        Ok(Self { method, page, pairs })
    }

    /// A parameter of the address. An empty one counts as absent.
    pub(super) fn get(&self, name: &str) -> Result<Option<String>, StatusRefusal> {
        self.pairs.get(name)
    }

    /// The query of this page with other values for some parameters; an empty value removes its parameter.
    pub(super) fn link(&self, changed: &[(&str, &str)]) -> String {
        let kept =
            self.pairs.0.iter().map(url::lossy).filter(|(name, _)| changed.iter().all(|(other, _)| other != name));
        let changed = changed.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        url::encode(kept.chain(changed).filter(|(_, value)| !value.is_empty()))
    }
}

/// The parameters of a query or the fields of a form.
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
    /// For visitors who have logged in.
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
        Self { allow: Some(allow), ..Self::new(405, format!("only {methods} allowed here")) }
    }

    /// With the commands as they have to be typed for this state directory.
    pub(super) fn completed(self, site: &Site) -> Self {
        Self { sentence: site.with_whole_command(&self.sentence), ..self }
    }

    /// What anonymous visitors may read: nothing about this machine.
    pub(super) fn public_sentence(&self) -> &str {
        if self.status < 500 { &self.sentence } else { "the status cannot be shown at the moment" }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn request(query: &str) -> Result<StatusRequest, u16> {
        let variables = Variables::of(&[("REQUEST_METHOD", "GET"), ("QUERY_STRING", query)]);
        StatusRequest::read(&variables).map_err(|refusal| refusal.status)
    }

    #[test]
    fn a_page_is_named_by_the_query() {
        assert_eq!(request("").unwrap().page, StatusPage::Overview);
        assert_eq!(request("page=jobs&queue=").unwrap().page, StatusPage::Jobs);
        assert_eq!(request("page=jobs&queue=").unwrap().get("queue").unwrap(), None);
        assert_eq!(request("page=x").unwrap_err(), 404);
        assert_eq!(request("page=%ff").unwrap_err(), 400);
    }

    #[test]
    fn a_link_keeps_what_it_does_not_change() {
        let request = request("page=jobs&queue=a%26b&below=9&since=").unwrap();
        assert_eq!(request.link(&[("below", "5")]), "page=jobs&queue=a%26b&below=5");
        assert_eq!(request.link(&[("below", "")]), "page=jobs&queue=a%26b");
    }
}
