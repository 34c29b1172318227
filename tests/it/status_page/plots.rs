//! The plots of the overview: pictures that are well-formed and show what happened, with a sentence that says it.

use crate::support::{
    site::Site,
    status_site::{OTHER, busy, see, site},
    web::Reply,
};

/// The pictures of a page, each with its label.
fn plots(page: &Reply) -> Vec<(String, String)> {
    let text = page.text();
    let parts = text.split("<div role=\"img\" aria-label=\"").skip(1);
    parts
        .map(|part| {
            let (label, rest) = part.split_once("\">").unwrap();
            (label.to_owned(), rest.split("</div>").next().unwrap().trim().to_owned())
        })
        .collect()
}

/// Elements close in the order in which they were opened, and every value is quoted.
#[track_caller]
fn assert_well_formed(svg: &str) {
    let mut open: Vec<&str> = Vec::new();
    for part in svg.split('<').skip(1) {
        let (tag, _) = part.split_once('>').unwrap_or_else(|| panic!("{part}"));
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name), "{svg}");
            continue;
        }
        assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
        if !tag.ends_with('/') {
            open.push(tag.split_whitespace().next().unwrap());
        }
    }
    assert!(open.is_empty() && svg.starts_with("<svg ") && svg.ends_with("</svg>"), "{open:?} in {svg}");
}

fn samples(site: &Site, counts: &[(i64, i64, i64)]) {
    let now = jiff::Timestamp::now().as_millisecond();
    for (minutes, queued, started) in counts {
        let at = now - minutes * 60_000;
        let sql = "INSERT INTO sample (at, queue, queued, started) VALUES (?1, 'default', ?2, ?3), (?1, 'other', 1, 0)";
        site.database().execute(sql, [at, *queued, *started]).unwrap();
    }
}

#[test]
fn a_site_without_a_past_says_so_in_plain_sentences() {
    let site = site();
    let page = see(&site, OTHER, "");
    assert_eq!(plots(&page), []);
    page.says("No data yet: a tick takes a sample once a minute.").says("No attempt has ended in this time.");
    page.says("0 attempts ended. None failed.");
}

#[test]
fn the_plots_show_what_happened() {
    let site = busy();
    site.database().execute("DELETE FROM sample", []).unwrap();
    samples(&site, &[(50, 10, 2), (30, 39, 3), (1, 7, 1), (600, 90, 4)]);
    let hour = plots(&see(&site, OTHER, ""));
    let day = plots(&see(&site, OTHER, "span=day"));
    for (_, svg) in hour.iter().chain(&day) {
        assert_well_formed(svg);
    }
    assert_eq!(hour[0].0, "Queue length. Queued: 8 now, 40 at most. Running: 1 now, 3 at most.");
    assert_eq!(day[0].0, "Queue length. Queued: 8 now, 91 at most. Running: 1 now, 4 at most.");
    assert!(hour[1].0.starts_with("Mean wait and run time. 2 attempts ended. Wait: "), "{}", hour[1].0);
    assert_eq!(hour[2].0, "Failures. 2 attempts ended. Failed: exit 1.");
    // The lines have a point for each sample, and the axis ends at 40 and 100.
    let points = |svg: &str| {
        svg.split("stroke=\"#2F7DC4\"").nth(1).unwrap().split('"').nth(3).unwrap().trim().matches(' ').count() + 1
    };
    assert_eq!((points(&hour[0].1), points(&day[0].1)), (3, 4));
    assert!(hour[0].1.contains("\n40\n") && day[0].1.contains("\n100\n"), "{}", hour[0].1);
    assert_eq!(hour[2].1.matches("<rect").count(), 1, "{}", hour[2].1);
}

#[test]
fn what_lies_ahead_or_long_ago_is_left_out() {
    let site = busy();
    site.database().execute("DELETE FROM sample", []).unwrap();
    samples(&site, &[(-30, 70, 0), (1500, 90, 0)]);
    site.database().execute("UPDATE attempt SET ended = ended + 3600000", []).unwrap();
    let page = see(&site, OTHER, "span=day");
    assert_eq!(plots(&page), []);
}

#[test]
fn a_tick_takes_the_samples_that_are_drawn() {
    let site = site().exporter(r#"until [ -e ../../../go ]; do sleep 0.01; done; echo x >"$1""#);
    for title in ["Emma", "Nana"] {
        site.ask(title).exits(75);
    }
    site.brief_tick().exits(0);
    let page = see(&site, OTHER, "");
    assert!(plots(&page)[0].0.contains("Running: 2 now"), "{:?}", plots(&page));
    crate::support::running::go(&site);
    crate::support::together::wait_for_runs(&site);
}
