//! The tables of jobs and attempts: filters, and pages that stay fast with many rows.

use crate::support::{
    site::Site,
    status_site::{OTHER, busy, job, see, site},
    web::Reply,
};

const JOBS: &str = r#"
    WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?2)
    INSERT INTO job (filename, exporter, params, queue, client, rank, submitted, run_after, queued_since, last_asked)
    SELECT 'epub/b' || i || '.epub', 'epub', '{"title":"b' || i || '"}', iif(i % 1000, 'default', 'other'),
           'client' || (i % 300), ?1 / 600000, ?1, ?1, ?1, ?1 FROM n"#;

const ATTEMPTS: &str = r#"
    WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?2)
    INSERT INTO attempt (id, job, filename, exporter, params, queue, client, number, submitted, started, counts_from, limits,
                         ended, result, duration, log_tail)
    SELECT printf('01ARZ3NDEKTSV4RRF%09d', i), i, 'epub/b' || i || '.epub', 'epub', '{"title":"b' || i || '"}', 'default',
           'client' || (i % 300), 1, ?1 - i * 100, ?1 - i * 90, ?1 - i * 90,
           '{"timeout":1.0,"kill_after":1.0,"memory_limit":null,"cpu_time_limit":null,"file_size":null,"work_size":null,'
           || '"open_files":null,"data":null,"address_space":null,"processes":null}',
           ?1 - (i / 3) * 80, iif(i % 10, 'ok', 'exit'), 10, 'log' FROM n"#;

fn filled(jobs: i64, attempts: i64) -> Site {
    let site = site();
    let now = jiff::Timestamp::now().as_millisecond();
    let database = site.database();
    database.execute(JOBS, [now, jobs]).unwrap();
    database.execute(ATTEMPTS, [now, attempts]).unwrap();
    drop(database);
    site
}

/// The files of a table, in its order.
fn files(page: &Reply) -> Vec<String> {
    let text = page.text().replace("&#x2f;", "/");
    let parts = text.split("<bdi>epub/").skip(1);
    parts.map(|part| part.split(".epub<").next().unwrap().to_owned()).collect()
}

/// The query of a link of the page.
fn link(page: &Reply, words: &str) -> Option<String> {
    let text = page.text().replace("&#x2f;", "/").replace("&amp;", "&");
    let before = text.split(&format!("\">{words}</a>")).next().filter(|before| before.len() < text.len())?;
    before.rsplit("href=\"?").next().map(str::to_owned)
}

/// Every file on all the pages from this one on.
fn walk(site: &Site, first: &str) -> Vec<String> {
    let (mut seen, mut query) = (Vec::new(), Some(first.to_owned()));
    while let Some(next) = query {
        let page = see(site, OTHER, &next);
        let found = files(page.is(200));
        assert!(!found.is_empty() && found.len() <= 50, "{next}");
        assert_eq!(link(&page, "Newest").is_some(), next.contains("below="), "{next}");
        seen.extend(found);
        query = link(&page, "Older");
    }
    seen
}

#[test]
fn the_pages_together_show_every_job_and_every_attempt_once() {
    let site = filled(170, 170);
    let all: Vec<_> = (1..=170).rev().map(|number| format!("b{number}")).collect();
    assert_eq!(walk(&site, "page=jobs"), all);
    assert_eq!(walk(&site, "page=jobs&exporter=epub&status=queued").len(), 170);
    for first in ["page=history", "page=history&exporter=epub", "page=history&client=client7&queue=default"] {
        let mut seen = walk(&site, first);
        let many = if first.contains("client7") { 1 } else { 170 };
        assert_eq!(seen.len(), many, "{first}");
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), many, "{first}");
    }
}

#[test]
fn jobs_are_filtered_as_the_command_does() {
    let site = busy();
    let shows = |query: &str| files(see(&site, OTHER, &format!("page=jobs&{query}")).is(200)).len();
    assert_eq!(shows(""), 2);
    assert_eq!((shows("status=failed"), shows("status=queued"), shows("status=started")), (1, 1, 0));
    assert_eq!((shows("exporter=epub"), shows("exporter=pdf"), shows("queue=other")), (2, 0, 0));
    assert_eq!((shows("client=client-of-the-test"), shows("client=nobody")), (2, 0));
    assert_eq!((shows("param=title=Bad"), shows("param=title=Good")), (1, 0));
    assert_eq!((shows("since=1h"), shows("until=1h"), shows("since=2020-01-01&until=")), (2, 0, 2));
    let page = see(&site, OTHER, "page=jobs&status=failed&queue=default&param=title%3DBad");
    page.says("<option selected>failed</option>").says("name=\"queue\" value=\"default\"").says("value=\"title=Bad\"");
    page.says("<option value=\"other\">");
    let past = |query: &str| files(see(&site, OTHER, &format!("page=history&{query}")).is(200)).len();
    assert_eq!((past(""), past("result=ok"), past("result=exit"), past("result=lost")), (2, 1, 1, 0));
    assert_eq!((past("status=failed"), past("param=title=Made"), past("since=1h"), past("until=1h")), (1, 1, 2, 0));
    assert!(see(&site, OTHER, "page=history&result=lost").text().contains("No attempt matches."));
}

#[test]
fn a_job_has_a_page_and_so_has_a_file_whose_job_is_gone() {
    let site = busy();
    let id = job(&site, "Bad");
    let query = link(&see(&site, OTHER, "page=jobs&status=failed"), &id.to_string()).unwrap();
    assert_eq!(query, format!("page=job&job={id}&file=epub%2FBad.epub"));
    let page = see(&site, OTHER, &query);
    page.is(200)
        .says("<dt>parameters</dt>")
        .says(&site.text("SELECT client FROM job LIMIT 1"))
        .says("&lt;i&gt;no such book&lt;/i&gt;");
    page.says("number</dt><dd>1 of job")
        .says(" of 5m</dd>")
        .says("<dt>memory</dt>")
        .says(" of 2 GB")
        .says("End of the log");
    let made = see(&site, OTHER, "page=job&job=2&file=epub/Made.epub");
    made.is(200)
        .says("<h1>Job 2</h1>")
        .says("job 2 (epub/Made.epub) has ended at ")
        .says("<dt>in cache</dt><dd><bdi>fresh, 5 B")
        .says("<bdi>ok</bdi>");
    see(&site, OTHER, "page=job&file=epub/Made.epub").is(200).says("<h1>File</h1>");
    see(&site, OTHER, "page=job&job=2").is(200).says("<h1>Job 2</h1>");
    see(&site, OTHER, "page=job&job=2000").is(404);
    let waiting = see(&site, OTHER, &format!("page=job&job={}", job(&site, "<script>")));
    waiting.is(200).says("queued, place 1 in its queue").says("The job has not been started yet.");
}

/// What it costs is measured by `make bench`, and the plans of its statements are looked at beside them.
#[test]
fn a_hundred_thousand_jobs_and_attempts_make_no_page_longer() {
    let site = filled(100_000, 100_000);
    for query in [
        "",
        "span=day",
        "page=jobs",
        "page=jobs&below=500",
        "page=jobs&status=queued&queue=other",
        "page=jobs&param=title%3Db77",
        "page=history",
        "page=history&result=exit&exporter=epub",
        "page=history&param=title%3Db77",
    ] {
        let page = see(&site, OTHER, query);
        assert!(page.is(200).body.len() < 100_000, "{query}: {} bytes", page.body.len());
    }
    assert_eq!(files(&see(&site, OTHER, "page=jobs&below=500"))[0], "b499");
    assert_eq!(files(&see(&site, OTHER, "page=jobs&param=title%3Db77")), ["b77"]);
}
