//! The real program in a small world: real processes, real files, a real database.

mod cgi;
mod request;
mod servers;
mod site;
mod web;
