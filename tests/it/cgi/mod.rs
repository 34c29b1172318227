//! The web front called directly, by CGI: every state, every header, and what a file's download needs.

mod clients;
mod file;
mod pages;
mod requests;
mod states;
mod waiting;

use crate::support::{site::Site, web::site};

const JSON: &[(&str, &str)] = &[("HTTP_ACCEPT", "application/json")];

fn made(title: &str) -> Site {
    let site = site().create();
    site.ask(title);
    site.tick();
    site
}

fn jobs(site: &Site) -> i64 {
    site.count("SELECT count(*) FROM job")
}

fn http_date(time: std::time::SystemTime) -> String {
    let seconds = time.duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    let time = jiff::Timestamp::from_second(i64::try_from(seconds).unwrap()).unwrap();
    time.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string()
}
