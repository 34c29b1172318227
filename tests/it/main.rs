//! The real program in a small world: real processes, real files, a real database.

mod request;
mod site;
