//! One Markdown file becomes one XHTML page.

use std::path::{Path, PathBuf};

use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd, html};

use crate::{links, xml};

/// A Markdown file and its headings, known before any page is made, since links lead to them.
pub struct Source {
    pub path: PathBuf,
    markdown: String,
    headings: Vec<Heading>,
}

pub struct Heading {
    pub level: HeadingLevel,
    pub text: String,
    /// What a Markdown link calls it: `#exit-codes`.
    slug: String,
}

/// A finished page.
pub struct Chapter {
    pub title: String,
    pub xhtml: String,
    /// (id, text) of the sections, for the table of contents.
    pub sections: Vec<(String, String)>,
}

impl Source {
    pub fn new(path: &Path, text: &str) -> Self {
        let markdown = xml::clean(text);
        let headings = headings(&markdown);
        Self { path: links::normal(path), markdown, headings }
    }

    /// The id of the heading that a link's fragment names.
    pub fn id_of(&self, fragment: &str) -> Option<String> {
        self.headings.iter().position(|heading| heading.slug == fragment).map(section_id)
    }

    fn title(&self) -> String {
        let heading = self.headings.iter().find(|heading| !heading.text.is_empty());
        heading.map_or_else(|| "Untitled".to_owned(), |heading| heading.text.clone())
    }

    fn sections(&self) -> Vec<(String, String)> {
        let numbered = self.headings.iter().enumerate();
        let wanted = numbered.filter(|(_, heading)| heading.level == HeadingLevel::H2 && !heading.text.is_empty());
        wanted.map(|(index, heading)| (section_id(index), heading.text.clone())).collect()
    }
}

/// Ids are numbers, not slugs: a slug may be empty, begin with a digit or come twice.
fn section_id(index: usize) -> String {
    format!("section-{}", index + 1)
}

fn parser(markdown: &str) -> Parser<'_> {
    Parser::new_ext(markdown, Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS)
}

fn headings(markdown: &str) -> Vec<Heading> {
    let mut found: Vec<Heading> = Vec::new();
    let mut open = false;
    for event in parser(markdown) {
        match event {
            Event::Start(Tag::Heading { level, .. }) => {
                found.push(Heading { level, text: String::new(), slug: String::new() });
                open = true;
            }
            Event::End(TagEnd::Heading(_)) => open = false,
            Event::Text(text) | Event::Code(text) if open => found.last_mut().unwrap().text.push_str(&text),
            _ => {}
        }
    }
    for heading in &mut found {
        heading.slug = slug(&heading.text);
    }
    found
}

fn slug(text: &str) -> String {
    let kept = text.trim().chars().filter(|&c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// Makes the page of one source; the others are there for the links between them.
pub fn render(source: &Source, sources: &[Source], lang: &str) -> Chapter {
    let mut rewriter = Rewriter { source, sources, headings: 0, kept_links: Vec::new() };
    let mut body = String::new();
    html::push_html(&mut body, parser(&source.markdown).filter_map(|event| rewriter.turn(event)));
    let title = source.title();
    Chapter { xhtml: xml::page(&title, lang, &body), title, sections: source.sections() }
}

/// Turns the parser's events into those of a page that stands on its own.
struct Rewriter<'a> {
    source: &'a Source,
    sources: &'a [Source],
    headings: usize,
    /// For each open link, whether it stays one.
    kept_links: Vec<bool>,
}

impl Rewriter<'_> {
    fn turn<'e>(&mut self, event: Event<'e>) -> Option<Event<'e>> {
        match event {
            Event::Start(Tag::Heading { level, classes, attrs, .. }) => {
                let id = Some(section_id(self.headings).into());
                self.headings += 1;
                Some(Event::Start(Tag::Heading { level, id, classes, attrs }))
            }
            Event::Start(tag @ Tag::Link { .. }) => self.open_link(tag),
            Event::End(TagEnd::Link) => self.kept_links.pop().unwrap_or(true).then_some(event),
            // A picture is not carried along; what it says instead is its alternative text, which is inside.
            Event::Start(Tag::Image { .. }) | Event::End(TagEnd::Image) => None,
            Event::Start(Tag::HtmlBlock) => Some(Event::Start(Tag::Paragraph)),
            Event::End(TagEnd::HtmlBlock) => Some(Event::End(TagEnd::Paragraph)),
            Event::Html(html) | Event::InlineHtml(html) => flatten(html),
            Event::TaskListMarker(done) => Some(Event::Text(if done { "☑ " } else { "☐ " }.into())),
            other => Some(other),
        }
    }

    fn open_link<'e>(&mut self, tag: Tag<'e>) -> Option<Event<'e>> {
        let Tag::Link { link_type, dest_url, title, id } = tag else { return None };
        let target = links::resolve(&dest_url, self.source, self.sources);
        self.kept_links.push(target.is_some());
        Some(Event::Start(Tag::Link { link_type, dest_url: target?.into(), title, id }))
    }
}

/// HTML inside Markdown is seldom XHTML: it is shown as text, but for comments and line breaks.
fn flatten(html: pulldown_cmark::CowStr<'_>) -> Option<Event<'_>> {
    match html.trim() {
        comment if comment.starts_with("<!--") => None,
        "<br>" | "<br/>" | "<br />" => Some(Event::HardBreak),
        _ => Some(Event::Text(html)),
    }
}
