//! The status page: who sees what, what is shown of whatever there is, and what administrators do by it.

mod act;
mod browser;
mod lists;
mod plots;
mod see;
mod servers;
