//! `pressroom jobs`: looking, and acting.

mod act;
mod invalidate;
mod list;
mod show;
