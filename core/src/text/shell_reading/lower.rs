//! From the syntax tree to the model, bottom-up in one loop.
//!
//! The shapes that the grammar gets wrong are put right here: operators inside of a here-document's line, words after a
//! redirect target, a redirect around a list that belongs to its last command, and `&&`, `||`, `|` whose grouping is
//! decided anew.

use std::ops::Range;

use super::model::{
    AndOr, Command, Compound, CompoundKind, Item, Model, Node, NodeId, Redirect, RedirectKind, Section, Substitution,
    Word,
};
use super::syntax::{Kind, Syntax};
use super::{trust, word};

/// Statements inside of each other; a construct takes two or three levels.
pub(super) const MAX_DEPTH: usize = 120;

/// Lowers a tree. `time` holds the reserved words that were blanked in the source; `text` is the source with them.
pub(super) fn lower(syntax: &Syntax, text: String, time: Vec<Range<usize>>, readable: bool) -> Model {
    let count = syntax.nodes.len();
    let model = Model { source: text, unreadable: !readable, ..Model::default() };
    let mut lowering = Lowering {
        syntax,
        model,
        time,
        chains: std::iter::repeat_with(|| None).take(count).collect(),
        bodies: std::iter::repeat_with(|| None).take(count).collect(),
        depths: Vec::new(),
    };
    for index in (0..count).rev() {
        lowering.lower(index);
    }
    let root = if syntax.kind(0) == Kind::Program { syntax.children(0) } else { vec![0] };
    lowering.model.root = lowering.sequence(&root);
    lowering.model.depth = lowering.depths.iter().copied().max().unwrap_or(0);
    lowering.model
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Operator {
    Pipe,
    And,
    Or,
}

/// Statements joined by operators that no bracket groups.
type Chain = Vec<(Option<Operator>, NodeId)>;

struct Lowering<'a> {
    syntax: &'a Syntax,
    model: Model,
    time: Vec<Range<usize>>,
    /// What a statement node became, until its parent takes it.
    chains: Vec<Option<Chain>>,
    /// What a substitution node became.
    bodies: Vec<Option<Substitution>>,
    /// Depth of each model node.
    depths: Vec<usize>,
}

impl Lowering<'_> {
    fn lower(&mut self, index: usize) {
        let chain = match self.syntax.kind(index) {
            Kind::CommandSubstitution | Kind::ProcessSubstitution => {
                let body = self.substitution(index);
                set(&mut self.bodies, index, body);
                return;
            }
            Kind::Command | Kind::DeclarationCommand | Kind::UnsetCommand | Kind::VariableAssignments => {
                self.command(index)
            }
            Kind::VariableAssignment if self.is_statement(index) => self.command(index),
            Kind::TestCommand => self.test(index),
            Kind::NegatedCommand | Kind::Pipeline | Kind::List => self.joined(index),
            Kind::RedirectedStatement => self.redirected(index),
            Kind::Group => self.group(index),
            Kind::Subshell => self.compound(index, CompoundKind::Subshell),
            Kind::If => self.compound(index, CompoundKind::If),
            Kind::While | Kind::For | Kind::CStyleFor => self.compound(index, CompoundKind::Loop),
            Kind::Case => self.compound(index, CompoundKind::Case),
            Kind::Function => self.compound(index, CompoundKind::Function),
            _ => return,
        };
        set(&mut self.chains, index, chain);
    }

    /// An assignment in front of a command or inside of a declaration is a word of it.
    fn is_statement(&self, index: usize) -> bool {
        let parent = self.syntax.node(index).map_or(Kind::Other, |node| self.syntax.kind(node.parent));
        !matches!(
            parent,
            Kind::Command | Kind::DeclarationCommand | Kind::VariableAssignments | Kind::CStyleFor | Kind::Other
        )
    }

    fn take(&mut self, index: usize) -> Option<Chain> {
        self.chains.get_mut(index).and_then(Option::take)
    }

    fn push(&mut self, node: Node, depth: usize) -> NodeId {
        self.model.nodes.push(node);
        self.depths.push(depth);
        self.model.nodes.len() - 1
    }

    fn depth(&self, node: NodeId) -> usize {
        self.depths.get(node).copied().unwrap_or(0)
    }

    fn depth_of(&self, substitutions: &[Substitution]) -> usize {
        let depths = substitutions.iter().map(|substitution| match substitution {
            Substitution::Parsed(body) => self.depth(*body),
            Substitution::Text(_) => 0,
        });
        depths.max().unwrap_or(0)
    }

    // --- Statements ---

    fn sequence(&mut self, children: &[usize]) -> NodeId {
        let mut items: Vec<Item> = Vec::new();
        for child in children {
            if let Some(chain) = self.take(*child) {
                let node = self.close(chain);
                items.push(Item { node, background: false });
            } else if self.syntax.kind(*child) == Kind::Token && self.syntax.text(*child) == "&" {
                if let Some(item) = items.last_mut() {
                    item.background = true;
                }
            } else {
                self.rescue(*child, &mut items);
            }
        }
        let depth = items.iter().map(|item| self.depth(item.node)).max().unwrap_or(0);
        self.push(Node::Sequence(items), depth + 1)
    }

    /// Keeps the statements below a node that no statement is made of, such as an error.
    fn rescue(&mut self, index: usize, items: &mut Vec<Item>) {
        let end = self.syntax.after(index);
        let mut next = index;
        while next < end {
            match self.take(next) {
                Some(chain) => {
                    let node = self.close(chain);
                    items.push(Item { node, background: false });
                    next = self.syntax.after(next);
                }
                None => next += 1,
            }
        }
    }

    /// Groups a chain as a shell does: pipelines first, then `&&` and `||` from the left.
    fn close(&mut self, chain: Chain) -> NodeId {
        let mut operands: Vec<(AndOr, Vec<NodeId>)> = Vec::new();
        for (operator, node) in chain {
            match (operator, operands.last_mut()) {
                (Some(Operator::Pipe), Some(last)) => last.1.push(node),
                (Some(Operator::Or), Some(_)) => operands.push((AndOr::Or, vec![node])),
                (_, Some(_)) => operands.push((AndOr::And, vec![node])),
                (_, None) => operands.push((AndOr::First, vec![node])),
            }
        }
        let mut closed = Vec::with_capacity(operands.len());
        for (join, stages) in operands {
            let depth = stages.iter().map(|stage| self.depth(*stage)).max().unwrap_or(0);
            let node = match stages.as_slice() {
                [only] => *only,
                _ => self.push(Node::Pipeline(stages), depth + 1),
            };
            closed.push((join, node));
        }
        let depth = closed.iter().map(|(_, node)| self.depth(*node)).max().unwrap_or(0);
        match closed.as_slice() {
            [(_, only)] => *only,
            _ => self.push(Node::AndOr(closed), depth + 1),
        }
    }

    fn joined(&mut self, index: usize) -> Chain {
        let mut chain = Chain::new();
        let mut operator = None;
        for child in self.syntax.children(index) {
            if let Some(mut part) = self.take(child) {
                if let Some(first) = part.first_mut() {
                    first.0 = operator;
                }
                if chain.is_empty() {
                    chain = part;
                } else {
                    chain.append(&mut part);
                }
            } else {
                operator = self.operator(child).or(operator);
            }
        }
        chain
    }

    fn operator(&self, index: usize) -> Option<Operator> {
        match (self.syntax.kind(index), self.syntax.text(index)) {
            (Kind::Token, "|" | "|&") => Some(Operator::Pipe),
            (Kind::Token, "&&") => Some(Operator::And),
            (Kind::Token, "||") => Some(Operator::Or),
            _ => None,
        }
    }

    // --- Commands ---

    fn command(&mut self, index: usize) -> Chain {
        let own = matches!(self.syntax.kind(index), Kind::VariableAssignment);
        let children = if own { vec![index] } else { self.syntax.children(index) };
        let span = self.syntax.span(index);
        let mut parts = Parts::default();
        for child in children {
            match self.syntax.kind(child) {
                Kind::FileRedirect | Kind::HerestringRedirect => self.redirect(child, &mut parts),
                _ => parts.words.push(child),
            }
        }
        vec![(None, self.finish(span, parts))]
    }

    fn test(&mut self, index: usize) -> Chain {
        let span = self.syntax.span(index);
        let children = self.syntax.children(index);
        let parts = Parts { words: children.iter().take(1).copied().collect(), ..Parts::default() };
        let substitutions = self.substitutions(&children);
        let node = self.finish(span, parts);
        if let Some(Node::Command(at)) = self.model.nodes.get(node)
            && let Some(command) = self.model.commands.get_mut(*at)
        {
            command.substitutions = substitutions;
        }
        vec![(None, node)]
    }

    fn finish(&mut self, span: Range<usize>, parts: Parts) -> NodeId {
        let words = self.words(&parts.words);
        let before = self.time.partition_point(|time| time.end <= span.start);
        let time = before.checked_sub(1).and_then(|last| self.time.get(last));
        let time = time.filter(|time| self.syntax.slice(time.end..span.start).trim().is_empty());
        let command = Command {
            time: time.map(|time| time.start),
            span,
            words,
            redirects: parts.redirects,
            substitutions: Vec::new(),
        };
        let of_words = command.words.iter().map(|word| self.depth_of(&word.substitutions));
        let of_redirects = command.redirects.iter().map(|redirect| self.depth_of(&redirect.substitutions));
        let depth = of_words.chain(of_redirects).max().unwrap_or(0);
        self.model.words += command.words.len() + command.redirects.len();
        self.model.commands.push(command);
        let at = self.model.commands.len() - 1;
        self.push(Node::Command(at), depth + 1)
    }

    /// Words from tree nodes; nodes without a gap between them are one word.
    fn words(&mut self, nodes: &[usize]) -> Vec<Word> {
        let mut groups: Vec<(Range<usize>, Vec<usize>)> = Vec::new();
        for node in nodes {
            let span = self.syntax.span(*node);
            match groups.last_mut() {
                Some((group, members)) if group.end == span.start => {
                    group.end = span.end;
                    members.push(*node);
                }
                _ => groups.push((span, vec![*node])),
            }
        }
        let words = groups.into_iter().filter(|(span, _)| !span.is_empty());
        let words: Vec<Word> = words.map(|(span, members)| self.word(span, &members)).collect();
        self.model.unreadable |= words.iter().any(|word| word.has_blank);
        words
    }

    fn word(&self, span: Range<usize>, members: &[usize]) -> Word {
        let outer = members.iter().flat_map(|node| self.syntax.outermost(*node, Kind::is_expansion));
        let expansions: Vec<_> = outer.map(|node| self.syntax.span(node)).collect();
        let substitutions = self.substitutions(members);
        // Each level would copy all the levels below it; a text this deep is judged as a whole.
        let span = if self.depth_of(&substitutions) > MAX_DEPTH { span.start..span.start } else { span };
        word::word(&self.syntax.source, span, &expansions, substitutions)
    }

    // --- Redirects ---

    fn redirected(&mut self, index: usize) -> Chain {
        let mut chain = Chain::new();
        let mut parts = Parts::default();
        let mut trailing = Chain::new();
        for child in self.syntax.children(index) {
            match self.syntax.kind(child) {
                Kind::FileRedirect | Kind::HerestringRedirect => self.redirect(child, &mut parts),
                Kind::HeredocRedirect => trailing.append(&mut self.here_document(child, &mut parts)),
                _ => chain.append(&mut self.take(child).unwrap_or_default()),
            }
        }
        match chain.last() {
            Some((_, last)) => self.attach(*last, parts),
            None => {
                let start = self.syntax.span(index).start;
                let end = parts.end(self.syntax).max(start);
                chain.push((None, self.finish(start..end, parts)));
            }
        }
        chain.append(&mut trailing);
        chain
    }

    /// A redirect belongs to the last command of what stands before it.
    fn attach(&mut self, node: NodeId, parts: Parts) {
        let end = parts.end(self.syntax);
        let words = self.words(&parts.words);
        let depth = parts.redirects.iter().map(|redirect| self.depth_of(&redirect.substitutions));
        let depth = depth.chain(words.iter().map(|word| self.depth_of(&word.substitutions))).max().unwrap_or(0) + 1;
        if let Some(known) = self.depths.get_mut(node) {
            *known = depth.max(*known);
        }
        self.model.words += words.len() + parts.redirects.len();
        match self.model.nodes.get_mut(node) {
            Some(Node::Command(at)) => {
                if let Some(command) = self.model.commands.get_mut(*at) {
                    command.span.end = command.span.end.max(end);
                    command.words.extend(words);
                    command.redirects.extend(parts.redirects);
                }
            }
            Some(Node::Compound(compound)) => {
                self.model.unreadable |= !words.is_empty();
                compound.redirects.extend(parts.redirects);
            }
            _ => self.model.unreadable = true,
        }
    }

    fn redirect(&mut self, index: usize, parts: &mut Parts) {
        let children = self.syntax.children(index);
        let is_operator = |child: &usize| self.syntax.kind(*child) == Kind::Token;
        let operator = children.iter().copied().find(is_operator);
        let operator = operator.map(|child| self.syntax.text(child).to_owned()).unwrap_or_default();
        let literals: Vec<usize> = children
            .into_iter()
            .filter(|child| !matches!(self.syntax.kind(*child), Kind::Token | Kind::FileDescriptor))
            .collect();
        let first = self.words_of_first(&literals);
        let (target_nodes, rest) = literals.split_at(first);
        let target = self.words(target_nodes).into_iter().next();
        let start = self.syntax.span(index).start;
        let end = target.as_ref().map_or(self.syntax.span(index).end, |word| word.span.end);
        parts.words.extend(rest);
        let substitutions = target.as_ref().map(|word| word.substitutions.clone()).unwrap_or_default();
        let kind = redirect_kind(&operator, target.as_ref());
        parts.redirects.push(Redirect { kind, span: start..end, operator, target, substitutions });
    }

    /// How many of the nodes make up the first word.
    fn words_of_first(&self, nodes: &[usize]) -> usize {
        let joined = nodes
            .iter()
            .zip(nodes.iter().skip(1))
            .take_while(|(left, right)| self.syntax.span(**left).end == self.syntax.span(**right).start);
        (joined.count() + 1).min(nodes.len())
    }

    /// The rest of the line of a here-document: redirects and words of the same command, and what follows it.
    fn here_document(&mut self, index: usize, parts: &mut Parts) -> Chain {
        let mut trailing = Chain::new();
        let mut operator = None;
        let mut span = self.syntax.span(index);
        let mut substitutions = Vec::new();
        let mut quoted = false;
        for child in self.syntax.children(index) {
            match self.syntax.kind(child) {
                Kind::HeredocStart => {
                    span.end = self.syntax.span(child).end;
                    quoted = trust::delimiter(self.syntax.text(child)).1;
                }
                Kind::HeredocBody if !quoted => substitutions = self.here_document_body(child),
                Kind::HeredocBody | Kind::HeredocEnd | Kind::FileDescriptor => {}
                Kind::FileRedirect | Kind::HerestringRedirect => self.redirect(child, parts),
                Kind::Token => operator = self.operator(child).or(operator),
                _ => match self.take(child) {
                    Some(mut chain) => {
                        if let Some(first) = chain.first_mut() {
                            first.0 = operator.or(first.0);
                        }
                        trailing.append(&mut chain);
                    }
                    None => parts.words.push(child),
                },
            }
        }
        let kind = RedirectKind::Inline;
        parts.redirects.push(Redirect { kind, span, operator: "<<".to_owned(), target: None, substitutions });
        trailing
    }

    fn here_document_body(&self, body: usize) -> Vec<Substitution> {
        let known = trust::here_document_expansions(self.syntax, body);
        let outer = self.syntax.outermost(body, Kind::is_expansion);
        let listed = outer.into_iter().filter(|node| self.syntax.text(*node).starts_with('$'));
        let mut found = self.substitutions(&listed.collect::<Vec<_>>());
        let text = self.syntax.text(body);
        let hidden = trust::scan_here_document(text, self.syntax.span(body).start, &known);
        found.extend(hidden.unwrap_or_default().into_iter().map(Substitution::Text));
        found
    }

    // --- Compound commands ---

    fn group(&mut self, index: usize) -> Chain {
        let arithmetic = self.syntax.text(index).starts_with("((");
        self.compound(index, if arithmetic { CompoundKind::Arithmetic } else { CompoundKind::Group })
    }

    fn compound(&mut self, index: usize, kind: CompoundKind) -> Chain {
        let parts = self.flat_children(index);
        let mut sections: Vec<Section> = Vec::new();
        let mut open: Vec<usize> = Vec::new();
        let mut is_condition = matches!(self.syntax.kind(index), Kind::If | Kind::While);
        let mut outside = Vec::new();
        let mut redirects = Parts::default();
        for part in parts {
            let known = self.chains.get(part).is_some_and(Option::is_some);
            match (self.syntax.kind(part), self.syntax.text(part)) {
                _ if known => open.push(part),
                (Kind::Token, "&") => open.push(part),
                (Kind::Token, "then" | "do" | "else" | ";;" | ";&" | ";;&") => {
                    self.section(&mut sections, &mut open, is_condition);
                    is_condition = false;
                }
                (Kind::Token, "elif") => {
                    self.section(&mut sections, &mut open, is_condition);
                    is_condition = true;
                }
                (Kind::FileRedirect | Kind::HerestringRedirect, _) => self.redirect(part, &mut redirects),
                (Kind::Token, _) => {}
                _ => outside.push(part),
            }
        }
        self.section(&mut sections, &mut open, is_condition);
        let substitutions = self.substitutions(&outside);
        self.model.words += outside.len();
        let inner = sections.iter().map(|section| self.depth(section.body)).max().unwrap_or(0);
        let depth = inner.max(self.depth_of(&substitutions)) + 1;
        let name =
            (kind == CompoundKind::Function).then(|| outside.first().map(|node| self.syntax.text(*node).to_owned()));
        let compound = Compound {
            kind,
            name: name.flatten(),
            sections,
            span: self.syntax.span(index),
            redirects: Vec::new(),
            substitutions,
        };
        let node = self.push(Node::Compound(compound), depth);
        self.attach(node, redirects);
        vec![(None, node)]
    }

    fn section(&mut self, sections: &mut Vec<Section>, open: &mut Vec<usize>, is_condition: bool) {
        if !open.is_empty() {
            let body = self.sequence(open);
            sections.push(Section { is_condition, body });
            open.clear();
        }
    }

    /// Children of a compound command, with the clauses it is made of opened.
    fn flat_children(&self, index: usize) -> Vec<usize> {
        let mut flat = Vec::new();
        for child in self.syntax.children(index) {
            match self.syntax.kind(child) {
                Kind::DoGroup | Kind::ElifClause | Kind::ElseClause | Kind::CaseItem => {
                    flat.extend(self.syntax.children(child));
                }
                _ => flat.push(child),
            }
        }
        flat
    }

    // --- Substitutions ---

    fn substitution(&mut self, index: usize) -> Option<Substitution> {
        let text = self.syntax.text(index);
        let in_quotes = self.syntax.node(index).is_some_and(|node| self.syntax.kind(node.parent) == Kind::String);
        if let Some(body) = text.trim_start_matches('$').strip_prefix('`')
            && body.contains('\\')
        {
            let body = body.strip_suffix('`').unwrap_or(body);
            return Some(Substitution::Text(trust::unescape_backtick(body, in_quotes)));
        }
        let children = self.syntax.children(index);
        let mut parts = Parts::default();
        for child in &children {
            if self.syntax.kind(*child) == Kind::FileRedirect {
                self.redirect(*child, &mut parts);
            }
        }
        if !parts.redirects.is_empty() {
            let start = parts.redirects.first().map_or(0, |redirect| redirect.span.start);
            let node = self.finish(start..parts.end(self.syntax).max(start), parts);
            let depth = self.depth(node) + 1;
            let items = vec![Item { node, background: false }];
            return Some(Substitution::Parsed(self.push(Node::Sequence(items), depth)));
        }
        Some(Substitution::Parsed(self.sequence(&children)))
    }

    /// What runs inside of these nodes to produce their text.
    fn substitutions(&self, nodes: &[usize]) -> Vec<Substitution> {
        let mut found = Vec::new();
        for node in nodes {
            let end = self.syntax.after(*node);
            let mut next = *node;
            while next < end {
                let kind = self.syntax.kind(next);
                if kind.is_substitution() {
                    found.extend(self.bodies.get(next).cloned().flatten());
                    next = self.syntax.after(next);
                    continue;
                }
                if kind == Kind::Other && self.syntax.is_leaf(next) {
                    let hidden = trust::hidden_commands(self.syntax.text(next), kind);
                    found.extend(hidden.unwrap_or_default().into_iter().map(Substitution::Text));
                }
                next += 1;
            }
        }
        found
    }
}

fn set<T>(slots: &mut [Option<T>], index: usize, value: impl Into<Option<T>>) {
    if let Some(slot) = slots.get_mut(index) {
        *slot = value.into();
    }
}

fn redirect_kind(operator: &str, target: Option<&Word>) -> RedirectKind {
    let value = target.and_then(Word::value).unwrap_or_default();
    let descriptor = !value.is_empty() && value.trim_end_matches('-').bytes().all(|byte| byte.is_ascii_digit());
    match operator {
        "<" => RedirectKind::Read,
        "<<<" => RedirectKind::Inline,
        ">&" if !descriptor => RedirectKind::Write,
        "<&" | ">&" | "<&-" | ">&-" => RedirectKind::Descriptor,
        _ => RedirectKind::Write,
    }
}

/// The pieces of a command while it is collected.
#[derive(Default)]
struct Parts {
    words: Vec<usize>,
    redirects: Vec<Redirect>,
}

impl Parts {
    fn end(&self, syntax: &Syntax) -> usize {
        let words = self.words.iter().map(|word| syntax.span(*word).end);
        words.chain(self.redirects.iter().map(|redirect| redirect.span.end)).max().unwrap_or(0)
    }
}
