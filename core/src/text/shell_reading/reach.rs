//! How far the exit status of a text reaches: whether it can be the status of what the text says it does.
//!
//! Proves one kind of text: simple commands joined by pipes and `&&`, one statement, or several where the shell stops at
//! the first that fails. Every other text is limited, by the construct that was seen or as not readable; a limitation
//! too many costs a claim, one too few would make a false one.

use std::ops::Range;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::model::{AndOr, Command, CompoundKind, Model, Node, Word};

/// Why an exit status does not stand for the whole text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Limitation {
    /// Stable word.
    pub code: String,
    /// What in the text, or about the interpreter, limits it.
    pub construct: String,
    /// What to do instead.
    pub remedy: String,
}

impl Limitation {
    /// A limitation of any kind.
    pub fn new(code: &str, construct: impl Into<String>, remedy: &str) -> Self {
        Self { code: code.to_owned(), construct: construct.into(), remedy: remedy.to_owned() }
    }
}

/// What a text says about its exit status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reach {
    /// `None` = the status is that of the text as a whole.
    pub limitation: Option<Limitation>,
    /// A reader that stops early can end a writer by a signal.
    pub has_pipeline: bool,
}

impl Reach {
    pub(super) fn unreadable(construct: &str) -> Self {
        Self { limitation: Some(Row::Unreadable.with(construct)), has_pipeline: false }
    }
}

/// The limitations known here, in the order in which the first counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Row {
    Unreadable,
    OptionReversal,
    MaskingFallback,
    NestedInterpreter,
    DynamicText,
    ExitTrap,
    ConditionIf,
    ConditionWhile,
    CaseBranch,
    Loop,
    Negation,
    BackgroundOperator,
    AndChain,
    EarlierStatements,
    Substitution,
    /// Nothing above, and no proof either.
    Unproven,
}

impl Row {
    fn with(self, construct: &str) -> Limitation {
        let (code, remedy) = match self {
            Self::Unreadable | Self::Unproven => ("unreadable", "send simpler text, or split the call"),
            Self::OptionReversal => {
                ("option_reversal", "leave the options on; run the tolerant part in a call of its own")
            }
            Self::MaskingFallback => ("masking_fallback", "run the check alone, or end the fallback with `exit 1`"),
            Self::NestedInterpreter => ("nested_interpreter", "run the inner command directly"),
            Self::DynamicText => ("dynamic_text", "run the text itself"),
            Self::ExitTrap => ("exit_trap", "drop the trap or run it in a call of its own"),
            Self::ConditionIf => ("condition_if", "run the check as a plain command"),
            Self::ConditionWhile => ("condition_while", "run the check as a plain command"),
            Self::CaseBranch => ("case_branch", "run the check as a plain command"),
            Self::Loop => ("loop", "use `all`, or one call per item"),
            Self::Negation => ("negation", "run the command without `!`"),
            Self::BackgroundOperator => ("background_operator", "use `background: true`"),
            Self::AndChain => ("and_chain", "one command per statement"),
            Self::EarlierStatements => ("earlier_statements", "join with `&&` or use `all`"),
            Self::Substitution => ("substitution", "assign it in a statement of its own, joined with `&&`"),
        };
        Limitation::new(code, construct, remedy)
    }
}

/// Programs that take shell text.
const SHELLS: [&str; 12] =
    ["ash", "bash", "busybox", "csh", "dash", "fish", "ksh", "mksh", "powershell", "pwsh", "sh", "tcsh"];
/// Programs that switch options of the running shell.
const SWITCHES: [&str; 5] = ["set", "shopt", "setopt", "unsetopt", "emulate"];
/// Programs whose first operand is a command of the running shell.
const SAME_SHELL: [&str; 6] = ["builtin", "command", "exec", "noglob", "nocorrect", "-"];

pub(super) fn of(model: &Model, stops: bool) -> Reach {
    let mut rows: Vec<(Row, String)> = Vec::new();
    for command in &model.commands {
        rows.extend(of_command(model, command));
    }
    for node in &model.nodes {
        rows.extend(of_node(model, node));
    }
    rows.extend(of_statements(model, stops));
    rows.extend(of_gaps(model));
    rows.sort_by_key(|(row, _)| *row);
    Reach {
        limitation: rows.into_iter().next().map(|(row, construct)| row.with(&construct)),
        has_pipeline: model.nodes.iter().any(|node| matches!(node, Node::Pipeline(_))),
    }
}

fn of_command(model: &Model, command: &Command) -> Option<(Row, String)> {
    let text = || first_line(model.slice(command.span.clone()));
    let substitutes =
        |word: &Word| !word.substitutions.is_empty() || word.raw.contains(['`']) || word.raw.contains("$(");
    let inside = command.redirects.iter().any(|redirect| !redirect.substitutions.is_empty());
    if !command.substitutions.is_empty() || inside || command.words.iter().any(substitutes) {
        return Some((Row::Substitution, text()));
    }
    let mut words = command.words.iter().skip_while(|word| word.is_assignment());
    let program = words.next()?;
    let Some(mut name) = program.file_name() else {
        return Some((Row::Unproven, format!("a program named at run time: {}", text())));
    };
    let mut rest: Vec<&Word> = words.collect();
    while SAME_SHELL.contains(&name) {
        let Some(inner) = rest.iter().position(|word| !word.raw.starts_with('-')) else { break };
        let Some(next) = rest.get(inner).and_then(|word| word.file_name()) else {
            return Some((Row::Unproven, format!("a program named at run time: {}", text())));
        };
        name = next;
        rest.drain(..=inner);
    }
    of_program(name, &rest, command).map(|row| (row, text()))
}

fn of_program(name: &str, rest: &[&Word], command: &Command) -> Option<Row> {
    let is_shell = |name: &str| SHELLS.contains(&name) || name == "zsh";
    match name {
        _ if SWITCHES.contains(&name) => {
            let reverses = name != "set" || rest.iter().any(|word| word.raw.starts_with('+') || word.raw == "-o");
            Some(if reverses { Row::OptionReversal } else { Row::Unproven })
        }
        "eval" | "source" | "." => Some(Row::DynamicText),
        "trap" => Some(Row::ExitTrap),
        "coproc" => Some(Row::BackgroundOperator),
        _ if is_shell(name) => (!runs_a_file(rest, command)).then_some(Row::NestedInterpreter),
        // Whatever takes a shell among its arguments may run it with text.
        _ => {
            let nested = rest.iter().filter_map(|word| word.file_name()).any(is_shell);
            (nested && !SPEAKERS.contains(&name)).then_some(Row::NestedInterpreter)
        }
    }
}

/// Programs that do not run what they are given.
const SPEAKERS: [&str; 9] = ["echo", "printf", "grep", "rg", "ls", "which", "cat", "git", "type"];

/// `bash script.sh`: the script is a program like any other.
fn runs_a_file(rest: &[&Word], command: &Command) -> bool {
    let named = rest.first().and_then(|word| word.value()).is_some_and(|value| !value.starts_with(['-', '+']));
    named && command.redirects.is_empty()
}

fn of_node(model: &Model, node: &Node) -> Option<(Row, String)> {
    match node {
        Node::Compound(compound) => {
            let text = first_line(model.slice(compound.span.clone()));
            let row = match compound.kind {
                CompoundKind::If => Row::ConditionIf,
                CompoundKind::Loop if text.starts_with("for") || text.starts_with("select") => Row::Loop,
                CompoundKind::Loop => Row::ConditionWhile,
                CompoundKind::Case => Row::CaseBranch,
                CompoundKind::Group | CompoundKind::Subshell | CompoundKind::Arithmetic | CompoundKind::Function => {
                    Row::Unproven
                }
            };
            Some((row, text))
        }
        Node::AndOr(operands) => {
            let masks = |(join, node): &&(AndOr, usize)| *join == AndOr::Or && !fails(model, *node);
            operands.iter().find(masks).map(|_| (Row::MaskingFallback, "`||`".to_owned()))
        }
        _ => None,
    }
}

/// A fallback that fails itself: `false`, or `exit` and `return` bare or with a number that is not 0.
fn fails(model: &Model, node: usize) -> bool {
    let Some(Node::Command(at)) = model.node(node) else { return false };
    let Some(command) = model.commands.get(*at) else { return false };
    let values: Option<Vec<&str>> = command.words.iter().map(Word::value).collect();
    match values.as_deref() {
        Some(["false" | "exit" | "return"]) => true,
        Some(["exit" | "return", number]) => number.parse::<u8>().is_ok_and(|number| number != 0),
        _ => false,
    }
}

fn of_statements(model: &Model, stops: bool) -> Option<(Row, String)> {
    let Some(Node::Sequence(items)) = model.node(model.root) else {
        return Some((Row::Unproven, "the text".to_owned()));
    };
    if items.iter().any(|item| item.background) {
        return Some((Row::BackgroundOperator, "`&`".to_owned()));
    }
    let (_, earlier) = items.split_last()?;
    if earlier.is_empty() {
        return None;
    }
    if !stops {
        return Some((Row::EarlierStatements, format!("{} statements", items.len())));
    }
    let chained = earlier.iter().any(|item| matches!(model.node(item.node), Some(Node::AndOr(_))));
    chained.then(|| (Row::AndChain, "an and/or list before the last statement".to_owned()))
}

/// Between the commands stands nothing but what joins them. This is what makes the proof one: whatever the model does
/// not show, such as `!` or the words of a compound command, stands there.
fn of_gaps(model: &Model) -> Option<(Row, String)> {
    let mut spans: Vec<Range<usize>> = model.commands.iter().map(|command| command.span.clone()).collect();
    let redirects = model.commands.iter().flat_map(|command| &command.redirects);
    spans.extend(redirects.map(|redirect| redirect.span.clone()));
    spans.sort_by_key(|span| span.start);
    let mut at = 0;
    for span in spans.into_iter().chain(std::iter::once(model.source.len()..model.source.len())) {
        if span.start > at {
            let gap = without_comments(model.slice(at..span.start));
            if gap.split_whitespace().any(|word| word == "!") {
                return Some((Row::Negation, "`!`".to_owned()));
            }
            if !only_joins(&gap) {
                return Some((Row::Unproven, first_line(gap.trim())));
            }
        }
        at = at.max(span.end);
    }
    None
}

fn without_comments(gap: &str) -> String {
    let mut kept = String::new();
    for line in gap.split_inclusive('\n') {
        match line.split_once('#') {
            Some((before, _)) => kept.extend([before, "\n"]),
            None => kept.push_str(line),
        }
    }
    kept
}

fn only_joins(gap: &str) -> bool {
    let gap = gap.replace("\\\n", " ").replace(['\n', ';'], " ");
    gap.split_whitespace().all(|joint| matches!(joint, "|" | "|&" | "&&" | "||"))
}

fn first_line(text: &str) -> String {
    const LIMIT: usize = 80;
    let line = text.lines().next().unwrap_or_default();
    match line.char_indices().nth(LIMIT) {
        Some((end, _)) => format!("{}...", line.get(..end).unwrap_or_default()),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use crate::text::shell_reading::{Dialect, read};

    fn code(text: &str, stops: bool) -> Option<String> {
        read(text, Dialect::Bash).reach(stops).limitation.map(|limitation| limitation.code)
    }

    // spec: EXIT-26
    #[test]
    fn simple_commands_pipes_and_and_lists_are_proven() {
        for text in [
            "cargo test",
            "cargo test --workspace -- --nocapture",
            "cd x && make -j4",
            "false | true",
            "a | b |& c",
            "X=1 cargo test > log 2>&1",
            "echo 'run tests || true'",
            "echo \"a; b & c\" # || true",
            "cargo test || exit 1",
            "cargo test || false",
            "bash ./test.sh",
            "test -f x",
            "[[ -f x ]]",
            "A=1",
            "cargo test;",
            "kill -9 $$",
            "exit 3",
            "echo $HOME *.rs {a,b}",
            "grep bash file",
            "a &&\n  b \\\n  c",
        ] {
            assert_eq!(code(text, false), None, "{text}");
        }
    }

    // spec: EXIT-15 EXIT-16 EXIT-17 EXIT-18 EXIT-19 EXIT-20 EXIT-21
    #[test]
    fn everything_else_is_limited() {
        for (text, expected) in [
            ("cargo test || true", "masking_fallback"),
            ("cargo test || exit 0", "masking_fallback"),
            ("a && b || c && d", "masking_fallback"),
            ("set +e", "option_reversal"),
            ("set +o pipefail && false | true", "option_reversal"),
            ("builtin set +e", "option_reversal"),
            ("command -p set +e", "option_reversal"),
            ("shopt -uo errexit", "option_reversal"),
            ("bash -c 'false | true'", "nested_interpreter"),
            ("timeout 5 bash -c x", "nested_interpreter"),
            ("find . -exec sh -c x {} +", "nested_interpreter"),
            ("curl x | sh", "nested_interpreter"),
            ("bash < script", "nested_interpreter"),
            ("eval \"$X\"", "dynamic_text"),
            (". ./env.sh && make", "dynamic_text"),
            ("trap 'exit 0' EXIT", "exit_trap"),
            ("if false; then :; fi", "condition_if"),
            ("while false; do :; done", "condition_while"),
            ("until true; do :; done", "condition_while"),
            ("for f in a b; do test $f = b; done", "loop"),
            ("case x in x) false;; esac", "case_branch"),
            ("! false", "negation"),
            ("a && ! b", "negation"),
            ("sleep 1 & true", "background_operator"),
            ("a; b", "earlier_statements"),
            ("a\nb", "earlier_statements"),
            ("echo $(false)", "substitution"),
            ("echo `false`", "substitution"),
            ("diff <(a) <(b)", "substitution"),
            ("cat <<E\n$(false)\nE", "substitution"),
            ("$RUN test", "unreadable"),
            ("(a; b)", "unreadable"),
            ("{ a; b; }", "unreadable"),
            ("f() { a; }; f", "earlier_statements"),
            ("((0))", "unreadable"),
            ("a '", "unreadable"),
        ] {
            assert!(code(text, false).is_some(), "{text}");
            let found = code(text, false).unwrap();
            assert!(found == expected || found == "unreadable", "{text}: {found}, not {expected}");
        }
        for text in ["cargo test || true", "set +e", "bash -c x", "if false; then :; fi", "for f in a; do b; done"] {
            assert_ne!(code(text, false).unwrap(), "unreadable", "{text}");
        }
    }

    // spec: EXIT-21
    #[test]
    fn statements_in_sequence_count_where_the_shell_stops() {
        assert_eq!(code("a; b\nc", true), None);
        assert_eq!(code("true && false", true), None);
        assert_eq!(code("false && true; echo x", true).as_deref(), Some("and_chain"));
        assert_eq!(code("! a; b", true).as_deref(), Some("negation"));
    }

    // case: 40
    #[test]
    fn pipelines_are_known() {
        assert!(read("yes | head -1", Dialect::Bash).reach(false).has_pipeline);
        assert!(!read("a && b", Dialect::Bash).reach(false).has_pipeline);
    }
}
