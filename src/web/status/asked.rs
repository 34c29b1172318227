//! What is asked for: a page, and the words that go with it.

use super::refusal::StatusRefusal;
use crate::web::{
    query::{self, Pair},
    request::{self, Method},
    variables::Variables,
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
        let pairs = Pairs(query::decode(variables.query()));
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
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let kept = self.pairs.0.iter().map(|(name, value)| (text(name), text(value)));
        let kept = kept.filter(|(name, _)| changed.iter().all(|(other, _)| other != name));
        let changed = changed.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let pairs: Vec<_> = kept.chain(changed).filter(|(_, value)| !value.is_empty()).collect();
        query::encode(pairs.iter().map(|(name, value)| (&**name, &**value)))
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
