//! A site with a status page, and how a user sees it.

use super::{
    site::Site,
    web::{Reply, program, reply, reply_to_form},
};

pub const ADMIN: &str = "anna";
pub const OTHER: &str = "bert";

/// A title that would act in a page, a terminal or a line of text.
pub const HOSTILE: &str = "<script>alert(1)</script>\u{202e}gpj\"'&";

/// What `epub` does, by the title; each log would act as well.
pub const EXPORTER: &str = r#"printf '<script>alert(2)</script>\033[31mred\n' ; head -c 100000 /dev/zero | tr '\0' x
printf '\n</pre><b>bold</b>\342\200\256\0end\n'
case "$2" in
Bad*) echo "<i>no such book</i>" >"$PRESSROOM_MESSAGE"; exit 65 ;;
*) printf "%s\n" "$2" >"$1" ;;
esac"#;

/// Beside what every site has.
pub const RULES: &str = "[status]\nadmins = [\"anna\"]\n[queue.other]\n";

pub fn site() -> Site {
    Site::new().exporter(EXPORTER).more(RULES).create()
}

/// One of everything: a failure, a file, a job that waits.
pub fn busy() -> Site {
    let site = site();
    for title in ["Bad", "Made"] {
        site.run(&["request", "epub", &format!("title={title}"), "--client", "client-of-the-test"]).exits(75);
    }
    site.tick();
    site.run(&["request", "epub", &format!("title={HOSTILE}"), "--client", "client-of-the-test"]).exits(75);
    site
}

#[track_caller]
pub fn see(site: &Site, user: &str, query: &str) -> Reply {
    see_with(site, user, query, &[])
}

#[track_caller]
pub fn see_with(site: &Site, user: &str, query: &str, more: &[(&str, &str)]) -> Reply {
    let mut command = program(site, "status", "GET", query);
    reply(command.env("SCRIPT_NAME", "/status").env("REMOTE_USER", user).envs(more.iter().copied()))
}

/// Sends a form to the page's place for deeds.
#[track_caller]
pub fn post(site: &Site, user: &str, form: &[(&str, &str)], more: &[(&str, &str)]) -> Reply {
    let body = form_urlencoded::Serializer::new(String::new()).extend_pairs(form).finish();
    let mut command = program(site, "status", "POST", "page=act");
    command.env("SCRIPT_NAME", "/status").env("REMOTE_USER", user).envs(more.iter().copied());
    reply_to_form(&mut command, body.as_bytes())
}

/// What a page has for a user: the value of the first hidden field of this name.
pub fn hidden(page: &Reply, name: &str) -> Option<String> {
    let text = page.text();
    let after = text.split(&format!("name=\"{name}\" value=\"")).nth(1)?;
    Some(after.split('"').next()?.replace("&amp;", "&"))
}

pub fn token(site: &Site, user: &str) -> String {
    hidden(&see(site, user, ""), "token").expect("a form with a token")
}

/// The id of the job for this title.
pub fn job(site: &Site, title: &str) -> i64 {
    site.count(&format!("SELECT id FROM job WHERE params LIKE '%\"{title}%'"))
}
