//! The syntax tree as a flat list, copied out of tree-sitter.
//!
//! Nodes stand in preorder and know the size of their subtree, so every later pass is a loop: 30,000 `&&` make a tree
//! that deep, and a recursive walk of it would overflow the stack of the host.

use std::ops::{ControlFlow, Range};
use std::time::Instant;

use tree_sitter::{ParseOptions, Parser};

/// What a node is, as far as a question about the text depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Program,
    RedirectedStatement,
    VariableAssignment,
    VariableAssignments,
    Command,
    DeclarationCommand,
    UnsetCommand,
    TestCommand,
    NegatedCommand,
    For,
    CStyleFor,
    While,
    If,
    Case,
    Pipeline,
    List,
    Group,
    Function,
    Subshell,
    DoGroup,
    ElifClause,
    ElseClause,
    CaseItem,
    CommandName,
    FileRedirect,
    HeredocRedirect,
    HerestringRedirect,
    HeredocStart,
    HeredocBody,
    HeredocContent,
    HeredocEnd,
    FileDescriptor,
    CommandSubstitution,
    ProcessSubstitution,
    Expansion,
    SimpleExpansion,
    ArithmeticExpansion,
    Array,
    String,
    StringContent,
    RawString,
    AnsiCString,
    Comment,
    /// Anything else with a name.
    Other,
    /// A keyword, an operator or a bracket.
    Token,
}

impl Kind {
    fn of(name: &str, named: bool) -> Self {
        if !named {
            return Self::Token;
        }
        match name {
            "program" => Self::Program,
            "redirected_statement" => Self::RedirectedStatement,
            "variable_assignment" => Self::VariableAssignment,
            "variable_assignments" => Self::VariableAssignments,
            "command" => Self::Command,
            "declaration_command" => Self::DeclarationCommand,
            "unset_command" => Self::UnsetCommand,
            "test_command" => Self::TestCommand,
            "negated_command" => Self::NegatedCommand,
            "for_statement" => Self::For,
            "c_style_for_statement" => Self::CStyleFor,
            "while_statement" => Self::While,
            "if_statement" => Self::If,
            "case_statement" => Self::Case,
            "pipeline" => Self::Pipeline,
            "list" => Self::List,
            "compound_statement" => Self::Group,
            "function_definition" => Self::Function,
            "subshell" => Self::Subshell,
            "do_group" => Self::DoGroup,
            "elif_clause" => Self::ElifClause,
            "else_clause" => Self::ElseClause,
            "case_item" => Self::CaseItem,
            "command_name" => Self::CommandName,
            "file_redirect" => Self::FileRedirect,
            "heredoc_redirect" => Self::HeredocRedirect,
            "herestring_redirect" => Self::HerestringRedirect,
            "heredoc_start" => Self::HeredocStart,
            "heredoc_body" => Self::HeredocBody,
            "heredoc_content" => Self::HeredocContent,
            "heredoc_end" => Self::HeredocEnd,
            "file_descriptor" => Self::FileDescriptor,
            "command_substitution" => Self::CommandSubstitution,
            "process_substitution" => Self::ProcessSubstitution,
            "expansion" => Self::Expansion,
            "simple_expansion" => Self::SimpleExpansion,
            "arithmetic_expansion" => Self::ArithmeticExpansion,
            "array" => Self::Array,
            "string" => Self::String,
            "string_content" => Self::StringContent,
            "raw_string" => Self::RawString,
            "ansi_c_string" => Self::AnsiCString,
            "comment" => Self::Comment,
            _ => Self::Other,
        }
    }

    /// The shell replaces this node by something that only the run knows.
    pub(super) fn is_expansion(self) -> bool {
        matches!(
            self,
            Self::CommandSubstitution
                | Self::ProcessSubstitution
                | Self::Expansion
                | Self::SimpleExpansion
                | Self::ArithmeticExpansion
                | Self::Array
        )
    }

    /// Commands run inside this node.
    pub(super) fn is_substitution(self) -> bool {
        matches!(self, Self::CommandSubstitution | Self::ProcessSubstitution)
    }
}

/// One node of the flat tree.
#[derive(Clone, Debug)]
pub(super) struct SyntaxNode {
    pub(super) kind: Kind,
    pub(super) span: Range<usize>,
    /// Nodes of the subtree, this one included.
    pub(super) size: usize,
    pub(super) parent: usize,
}

/// A flat tree over a source text.
#[derive(Debug)]
pub(super) struct Syntax {
    pub(super) source: String,
    pub(super) nodes: Vec<SyntaxNode>,
    pub(super) has_error: bool,
}

impl Syntax {
    /// Parses a text. `None` when that is not done at `deadline`: behind a syntax error the parser's effort grows with
    /// the square of the text.
    pub(super) fn parse(source: String, deadline: Instant) -> Option<Self> {
        let mut parser = Parser::new();
        parser.set_language(&tree_sitter_bash::LANGUAGE.into()).ok()?;
        let mut watch = |_: &tree_sitter::ParseState| match Instant::now() < deadline {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        };
        let stand_in = stand_in(&source);
        let bytes = stand_in.as_bytes();
        let mut read = |offset: usize, _| bytes.get(offset..).unwrap_or_default();
        let options = ParseOptions::new().progress_callback(&mut watch);
        let tree = parser.parse_with_options(&mut read, None, Some(options))?;
        let (nodes, missing) = copy(&tree);
        let has_error = missing || tree.root_node().has_error();
        Some(Self { source, nodes, has_error })
    }

    pub(super) fn node(&self, index: usize) -> Option<&SyntaxNode> {
        self.nodes.get(index)
    }

    pub(super) fn kind(&self, index: usize) -> Kind {
        self.node(index).map_or(Kind::Other, |node| node.kind)
    }

    pub(super) fn span(&self, index: usize) -> Range<usize> {
        self.node(index).map_or(0..0, |node| node.span.clone())
    }

    /// The text of a node.
    pub(super) fn text(&self, index: usize) -> &str {
        self.slice(self.span(index))
    }

    pub(super) fn slice(&self, span: Range<usize>) -> &str {
        self.source.get(span).unwrap_or_default()
    }

    /// The index after the subtree of a node.
    pub(super) fn after(&self, index: usize) -> usize {
        index + self.node(index).map_or(1, |node| node.size.max(1))
    }

    pub(super) fn is_leaf(&self, index: usize) -> bool {
        self.after(index) == index + 1
    }

    /// The direct children of a node, comments left out.
    pub(super) fn children(&self, index: usize) -> Vec<usize> {
        let end = self.after(index);
        let mut children = Vec::new();
        let mut next = index + 1;
        while next < end {
            if self.kind(next) != Kind::Comment {
                children.push(next);
            }
            next = self.after(next);
        }
        children
    }

    /// The outermost nodes of a subtree that satisfy `wanted`, in order.
    pub(super) fn outermost(&self, index: usize, wanted: impl Fn(Kind) -> bool) -> Vec<usize> {
        let end = self.after(index);
        let mut found = Vec::new();
        let mut next = index;
        while next < end {
            if wanted(self.kind(next)) {
                found.push(next);
                next = self.after(next);
            } else {
                next += 1;
            }
        }
        found
    }
}

/// The text the grammar sees: what is no blank to a shell is no blank here either.
///
/// Every byte of a character beyond ASCII, and the control characters the grammar would skip, become a letter. To a
/// shell they are letters of a word, while the grammar separates words at any Unicode space; and its scanner looks up
/// characters in the C library's table for bytes, which ends the process for `{` in front of a large one.
fn stand_in(source: &str) -> String {
    let letter = |byte: u8| match byte {
        b'\t' | b'\n' | b' '..=b'~' => char::from(byte),
        _ => 'Z',
    };
    source.bytes().map(letter).collect()
}

fn copy(tree: &tree_sitter::Tree) -> (Vec<SyntaxNode>, bool) {
    let mut nodes: Vec<SyntaxNode> = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    let mut missing = false;
    let mut cursor = tree.walk();
    loop {
        let node = cursor.node();
        missing |= node.is_missing();
        let index = nodes.len();
        let kind = Kind::of(node.kind(), node.is_named());
        let parent = open.last().copied().unwrap_or(index);
        nodes.push(SyntaxNode { kind, span: node.byte_range(), size: 1, parent });
        open.push(index);
        if cursor.goto_first_child() {
            continue;
        }
        loop {
            let total = nodes.len();
            if let Some(done) = open.pop().and_then(|index| nodes.get_mut(index).map(|node| (index, node))) {
                done.1.size = total - done.0;
            }
            if cursor.goto_next_sibling() {
                break;
            }
            if !cursor.goto_parent() {
                return (nodes, missing);
            }
        }
    }
}
