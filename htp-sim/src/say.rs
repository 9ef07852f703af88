//! Lines for the user on stderr.

use std::io::Write;

/// Prints one line. Unlike `eprintln!` it does not panic when stderr is closed.
pub(crate) fn say(source: &str, text: &str) {
    let _ = writeln!(std::io::stderr(), "{source}: {text}");
}

/// A line of the simulated driver itself.
pub(crate) fn driver(text: &str) {
    say("htp-sim", text);
}
