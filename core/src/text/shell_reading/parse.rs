//! From a text to its model.

use std::ops::Range;
use std::time::Instant;

use super::Dialect;
use super::lower;
use super::model::Model;
use super::syntax::{Kind, Syntax};
use super::trust;

/// How often the reserved word `time` may stand behind itself.
const TIME_ROUNDS: usize = 4;

/// Reads a text. `None` when the parser gave up on it.
pub(super) fn parse(text: &str, dialect: Dialect, deadline: Instant) -> Option<Model> {
    let mut blanked = text.to_owned();
    let mut time = Vec::new();
    let mut syntax = Syntax::parse(blanked.clone(), deadline)?;
    for _ in 0..TIME_ROUNDS {
        let found = reserved_time(&syntax);
        if found.is_empty() {
            break;
        }
        // The grammar takes `time` for a program, and what follows for its arguments.
        for span in &found {
            blanked.replace_range(span.clone(), &" ".repeat(span.len()));
        }
        time.extend(found);
        syntax = Syntax::parse(blanked.clone(), deadline)?;
    }
    let readable = dialect.has_grammar() && trust::shows_everything(&syntax, dialect != Dialect::Sh);
    time.sort_by_key(|span| span.start);
    Some(lower::lower(&syntax, text.to_owned(), time, readable))
}

fn reserved_time(syntax: &Syntax) -> Vec<Range<usize>> {
    let commands = (0..syntax.nodes.len()).filter(|index| syntax.kind(*index) == Kind::Command);
    commands.filter_map(|index| time_span(syntax, index)).collect()
}

/// `time`, `time -p` and `time --` in front of something; with any other option it is a program.
fn time_span(syntax: &Syntax, command: usize) -> Option<Range<usize>> {
    let children = syntax.children(command);
    let (first, rest) = children.split_first()?;
    if syntax.kind(*first) != Kind::CommandName || syntax.text(*first) != "time" {
        return None;
    }
    let mut span = syntax.span(*first);
    for word in rest {
        match syntax.text(*word) {
            "-p" | "--" => span.end = syntax.span(*word).end,
            option if option.starts_with('-') => return None,
            _ => return Some(span),
        }
    }
    None
}
