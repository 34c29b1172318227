//! `[http]`: what visitors may do.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use toml::de::DeValue;

use super::{
    reader::TableReader,
    types::{ClientSource, Config, EnqueueOn, HttpRules, PathForm, Sendfile},
    values,
};
use crate::model::client::Network;

impl Default for HttpRules {
    fn default() -> Self {
        Self {
            enqueue_on: EnqueueOn::Get,
            client: ClientSource::Variable("REMOTE_ADDR".to_owned()),
            max_wait: Duration::ZERO,
            max_waiters: 4,
            refresh: None,
            failed_status: (500, 504),
            pending_status: 503,
            sendfile: Sendfile::Off,
            templates: None,
        }
    }
}

pub(super) fn read(top: &TableReader<'_>, dir: &Path) -> HttpRules {
    let base = HttpRules::default();
    let Some(table) = top.table("http") else { return base };
    let rules = HttpRules {
        enqueue_on: table.word("enqueue_on", &[("get", EnqueueOn::Get), ("post", EnqueueOn::Post)], base.enqueue_on),
        client: table.read("client", CLIENT, client).unwrap_or(base.client),
        max_wait: table.duration("max_wait", base.max_wait),
        max_waiters: table.count("max_waiters", 0..=10_000, base.max_waiters),
        refresh: table.read_or("refresh", "off", r#""off" or a duration such as "1m""#, base.refresh, values::duration),
        failed_status: table.read("failed_status", FAILED, failed_status).unwrap_or(base.failed_status),
        pending_status: table.read("pending_status", PENDING, pending_status).unwrap_or(base.pending_status),
        sendfile: table.read("sendfile", SENDFILE, sendfile).unwrap_or(base.sendfile),
        templates: table.read_or("templates", "none", r#"a directory, or "none""#, None, |value| templates(value, dir)),
    };
    table.done();
    rules
}

const FAILED: &str = "two HTTP status codes from 400 to 599, for failed_unknown and for failed_timeout";
const PENDING: &str = "503, or 202 where a load balancer takes a server that answers 503 out of service";
const SENDFILE: &str = r#""off", "x-sendfile", "x-sendfile:raw", "x-sendfile:encoded" or "x-accel-redirect:/internal""#;
const CLIENT: &str = "the name of a CGI variable, \"x-forwarded-for:1\" with the number of the hop counted from the end, \
                      or \"x-forwarded-for:10.0.0.0/8\" with the addresses of your own proxies";
/// More proxies than this nobody has in a row.
const MAX_HOPS: usize = 20;

fn client(value: &DeValue<'_>) -> Option<ClientSource> {
    let text = values::text(value)?;
    if let Some(hop) = text.strip_prefix("x-forwarded-for:") {
        return forwarded(hop);
    }
    let is_variable = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    text.chars().all(is_variable).then(|| ClientSource::Variable(text.to_owned()))
}

fn forwarded(hop: &str) -> Option<ClientSource> {
    match hop.parse() {
        Ok(number) => (1..=MAX_HOPS).contains(&number).then_some(ClientSource::Hop(number)),
        Err(_) => hop
            .split(',')
            .map(|network| network.trim().parse().ok())
            .collect::<Option<Vec<Network>>>()
            .map(ClientSource::Beyond),
    }
}

/// What works, but may not do what it seems to.
pub(super) fn warnings(config: &Config) -> Option<String> {
    let whole = ClientSource::Variable("HTTP_X_FORWARDED_FOR".to_owned());
    let text = "client in [http] takes the whole X-Forwarded-For header, most of which any visitor can forge: each \
                request could count as a new client; write \"x-forwarded-for:1\" for the address that your own proxy added";
    (config.http.client == whole).then(|| text.to_owned())
}

fn failed_status(value: &DeValue<'_>) -> Option<(u16, u16)> {
    let code = |item: &toml::Spanned<DeValue<'_>>| u16::try_from(values::integer(item.get_ref())?).ok();
    let codes: Vec<_> = value.as_array()?.iter().map(code).collect::<Option<_>>()?;
    match codes[..] {
        [unknown @ 400..600, timeout @ 400..600] => Some((unknown, timeout)),
        _ => None,
    }
}

fn pending_status(value: &DeValue<'_>) -> Option<u16> {
    u16::try_from(values::integer(value)?).ok().filter(|status| matches!(status, 202 | 503))
}

fn sendfile(value: &DeValue<'_>) -> Option<Sendfile> {
    match value.as_str()? {
        "off" => Some(Sendfile::Off),
        "x-sendfile" => Some(Sendfile::XSendfile(PathForm::Known)),
        "x-sendfile:raw" => Some(Sendfile::XSendfile(PathForm::Raw)),
        "x-sendfile:encoded" => Some(Sendfile::XSendfile(PathForm::Encoded)),
        text => {
            let location = text.strip_prefix("x-accel-redirect:")?.trim_end_matches('/');
            let plain = location.starts_with('/') && location.bytes().all(|byte| byte.is_ascii_graphic());
            plain.then(|| Sendfile::XAccelRedirect(location.to_owned()))
        }
    }
}

fn templates(value: &DeValue<'_>, dir: &Path) -> Option<PathBuf> {
    values::text(value).map(|path| super::absolute(dir, path))
}
