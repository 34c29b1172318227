//! What several test files share: a site, those who use it, servers and browsers before it.

pub mod accounts;
pub mod admin;
pub mod browser;
pub mod classes;
pub mod dice;
pub mod formats;
pub mod http;
pub mod outside;
pub mod rogue;
pub mod running;
pub mod server;
pub mod site;
pub mod status_site;
pub mod strays;
pub mod together;
pub mod untouched;
pub mod web;
