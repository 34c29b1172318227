//! The same table of requests against the web servers themselves, with the configurations of `docs/examples/`.

use crate::support::server::{Kind, Server};

mod php;
mod slow;
mod table;

/// Runs a check against one server, if it is installed.
fn with(kind: Kind, test: &str, check: impl FnOnce(&Server)) {
    match Server::start(kind) {
        Ok(server) => check(&server),
        Err(missing) => crate::support::outside::skipped(test, &missing),
    }
}

macro_rules! server {
    ($module:ident, $kind:expr) => {
        mod $module {
            use super::{Kind, table, with};

            #[test]
            fn every_answer_arrives() {
                with($kind, concat!(stringify!($module), " every_answer_arrives"), table::every_answer_arrives);
            }

            #[test]
            fn every_title_is_served_whole_under_its_name() {
                with($kind, concat!(stringify!($module), " every_title_is_served"), table::every_title_is_served);
            }

            #[test]
            fn a_broken_download_goes_on_where_it_broke() {
                with($kind, concat!(stringify!($module), " a_broken_download"), table::a_broken_download_goes_on);
            }

            #[test]
            fn a_title_like_a_path_delivers_its_own_file() {
                with(
                    $kind,
                    concat!(stringify!($module), " a_title_like"),
                    table::a_title_like_a_path_delivers_its_own_file,
                );
            }

            #[test]
            fn a_claimed_name_counts_for_nothing() {
                with($kind, concat!(stringify!($module), " a_claimed_name"), table::a_claimed_name_counts_for_nothing);
            }

            #[test]
            fn hostile_requests_are_refused_and_queue_nothing() {
                with($kind, concat!(stringify!($module), " hostile_requests"), table::hostile_requests_are_refused);
            }
        }
    };
}

server!(nginx, Kind::Nginx);
server!(nginx_accel, Kind::NginxAccel);
server!(apache, Kind::Apache);
server!(apache_xsendfile, Kind::ApacheXSendfile);
server!(lighttpd, Kind::Lighttpd);
server!(lighttpd_xsendfile, Kind::LighttpdXSendfile);
server!(lighttpd_tagged, Kind::LighttpdTagged);
server!(busybox, Kind::Busybox);
