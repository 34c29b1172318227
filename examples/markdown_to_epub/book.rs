//! Puts the pages into one EPUB.

use anyhow::Context;
use epub_builder::{EpubBuilder, EpubContent, EpubVersion, ReferenceType, TocElement, ZipLibrary};

use crate::{chapter::Chapter, links, xml};

const STYLE: &str = "\
body { line-height: 1.4; }
pre { white-space: pre-wrap; font-size: 0.85em; }
table { border-collapse: collapse; }
th, td { border: 1px solid; padding: 0.2em 0.5em; vertical-align: top; }
";

/// A book that chapters are added to, in order.
pub struct Book {
    builder: EpubBuilder<ZipLibrary>,
    chapters: usize,
}

impl Book {
    pub fn new(title: &str, lang: &str) -> anyhow::Result<Self> {
        let title = xml::clean(title);
        let title = if title.trim().is_empty() { "Untitled" } else { &title };
        let mut builder = EpubBuilder::new(ZipLibrary::new()?)?;
        builder.epub_version(EpubVersion::V30).metadata("title", title)?.metadata("lang", lang)?;
        builder.metadata("generator", "markdown_to_epub")?.metadata("toc_name", "Contents")?;
        builder.stylesheet(STYLE.as_bytes())?;
        let page = xml::page(title, lang, &format!("<h1>{}</h1>", xml::escape(title)));
        let content = EpubContent::new("title.xhtml", page.as_bytes()).title(title);
        builder.add_content(content.reftype(ReferenceType::TitlePage))?;
        Ok(Self { builder, chapters: 0 })
    }

    pub fn add(&mut self, chapter: &Chapter) -> anyhow::Result<()> {
        let file = links::file_name(self.chapters);
        let mut content = EpubContent::new(&file, chapter.xhtml.as_bytes()).title(&chapter.title);
        for (id, text) in &chapter.sections {
            content = content.child(TocElement::new(format!("{file}#{id}"), text));
        }
        self.builder.add_content(content).with_context(|| format!("cannot add {file}"))?;
        self.chapters += 1;
        Ok(())
    }

    /// The whole file, in memory: a book of text is small.
    pub fn bind(self) -> anyhow::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.builder.generate(&mut bytes).context("cannot put the book together")?;
        Ok(bytes)
    }
}
