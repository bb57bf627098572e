//! Puts all mutants of a file behind a switch: `a + b` becomes `if on(7) { a - b } else { a + b }`, with both operands
//! written once, so that the file grows in proportion to its mutants.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use proc_macro2::LineColumn;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

use crate::Error;
use crate::list::{self, Mutant};

/// The text before an identifier's number in a switch.
const ON: &str = "crate::mutant_switch::on";

/// Numbered alternatives.
type Alternatives = Vec<(u32, String)>;

enum Node {
    /// Both operands are always evaluated.
    Binary {
        left: Range<usize>,
        operator: String,
        right: Range<usize>,
        others: Alternatives,
    },
    /// `&&` and `||`.
    Lazy {
        left: Range<usize>,
        and: bool,
        right: Range<usize>,
        other: u32,
    },
    /// `a += b`
    Assign {
        left: Range<usize>,
        operator: String,
        right: Range<usize>,
        others: Alternatives,
    },
    Unary {
        operator: String,
        operand: Range<usize>,
        deleted: u32,
    },
    /// The guard of an arm, or the place where it would be.
    Arm {
        guard: Option<Range<usize>>,
        deleted: Vec<u32>,
        always: Vec<u32>,
        never: Vec<u32>,
    },
    /// The first place in a function's body.
    Body {
        others: Alternatives,
    },
}

impl Node {
    fn numbers(&self) -> Vec<u32> {
        let of = |others: &Alternatives| others.iter().map(|(number, _)| *number).collect();
        match self {
            Self::Binary { others, .. } | Self::Assign { others, .. } | Self::Body { others } => of(others),
            Self::Lazy { other, .. } => vec![*other],
            Self::Unary { deleted, .. } => vec![*deleted],
            Self::Arm { deleted, always, never, .. } => [deleted.as_slice(), always, never].concat(),
        }
    }
}

/// Where in the rewritten file a mutant is: for finding the one that the compiler complains of.
#[derive(Debug)]
pub struct Placed {
    pub range: Range<usize>,
    pub numbers: Vec<u32>,
    /// Whether the range is that of the mutant's own text, in which the other mutants of the same place have no part.
    pub alone: bool,
}

/// A rewritten file.
pub struct Switched {
    pub text: String,
    pub placed: Vec<Placed>,
}

/// Rewrites `text` with `mutants`, numbered, except those in `dropped`. Those that have no switch are pushed to
/// `left`.
pub fn switch(
    text: &str,
    mutants: &[(u32, &Mutant)],
    dropped: &HashSet<u32>,
    left: &mut Vec<u32>,
) -> Result<Switched, Error> {
    let file = syn::parse_file(text).map_err(|error| format!("{error}"))?;
    let offset = |line: usize, column: usize| list::offset(text, line, column);
    let mut by_place: HashMap<(usize, &str), Vec<(u32, &Mutant)>> = HashMap::new();
    let mut nodes = Vec::new();
    let mut bodies: HashMap<usize, Alternatives> = HashMap::new();
    for &(number, mutant) in mutants.iter().filter(|(number, _)| !dropped.contains(number)) {
        let at = offset(mutant.span.start.line, mutant.span.start.column - 1);
        if mutant.genre == "FnValue" && mutant.name.contains("-> impl ") {
            // Two returns of such a function are of one type.
            left.push(number);
        } else if mutant.genre == "FnValue" {
            bodies.entry(at).or_default().push((number, mutant.replacement.clone()));
        } else {
            by_place.entry((at, mutant.genre.as_str())).or_default().push((number, mutant));
        }
    }
    nodes.extend(bodies.into_iter().map(|(at, others)| (at..at, Node::Body { others })));
    let mut finder = Finder { offset: &offset, by_place, nodes };
    finder.visit_file(&file);
    let Finder { by_place, mut nodes, .. } = finder;
    left.extend(by_place.into_values().flatten().map(|(number, _)| number));
    // Outer ones first, and what has no width before what begins there.
    nodes.sort_by_key(|(range, _)| (range.start, if range.is_empty() { 0 } else { usize::MAX - range.end }));
    let mut writer = Writer { source: text, nodes: &nodes, text: String::new(), placed: Vec::new() };
    writer.write(0..text.len());
    Ok(Switched { text: writer.text, placed: writer.placed })
}

struct Finder<'a, F> {
    offset: &'a F,
    by_place: HashMap<(usize, &'a str), Vec<(u32, &'a Mutant)>>,
    nodes: Vec<(Range<usize>, Node)>,
}

impl<F: Fn(usize, usize) -> usize> Finder<'_, F> {
    fn at(&self, place: LineColumn) -> usize {
        (self.offset)(place.line, place.column)
    }

    fn range(&self, spanned: &impl Spanned) -> Range<usize> {
        self.at(spanned.span().start())..self.at(spanned.span().end())
    }

    fn take(&mut self, place: LineColumn, genre: &'static str) -> Vec<(u32, String)> {
        let at = self.at(place);
        let found = self.by_place.remove(&(at, genre)).unwrap_or_default();
        found.into_iter().map(|(number, mutant)| (number, mutant.replacement.clone())).collect()
    }
}

impl<'ast, F: Fn(usize, usize) -> usize> Visit<'ast> for Finder<'_, F> {
    fn visit_expr_binary(&mut self, binary: &'ast syn::ExprBinary) {
        // Code that binds names cannot be in parentheses: `if let Some(x) = y && x > 0`.
        let binds = matches!(*binary.left, syn::Expr::Let(_)) || matches!(*binary.right, syn::Expr::Let(_)) || {
            let mut left = &*binary.left;
            while let syn::Expr::Binary(inner) = left {
                if matches!(*inner.right, syn::Expr::Let(_)) || matches!(*inner.left, syn::Expr::Let(_)) {
                    break;
                }
                left = &inner.left;
            }
            matches!(left, syn::Expr::Binary(_))
        };
        let lazy = matches!(binary.op, syn::BinOp::And(_) | syn::BinOp::Or(_));
        if !(binds && lazy) {
            let others = self.take(binary.op.span().start(), "BinaryOperator");
            if !others.is_empty() {
                let (left, right) = (self.range(&*binary.left), self.range(&*binary.right));
                let range = left.start..right.end;
                let operator_text = operator_text(&binary.op);
                let node = match binary.op {
                    syn::BinOp::And(_) => Node::Lazy { left, and: true, right, other: others[0].0 },
                    syn::BinOp::Or(_) => Node::Lazy { left, and: false, right, other: others[0].0 },
                    _ if operator_text.ends_with('=') && !is_comparison(operator_text) => {
                        Node::Assign { left, operator: operator_text.into(), right, others }
                    }
                    _ => Node::Binary { left, operator: operator_text.into(), right, others },
                };
                self.nodes.push((range, node));
            }
        }
        visit::visit_expr_binary(self, binary);
    }

    fn visit_expr_unary(&mut self, unary: &'ast syn::ExprUnary) {
        if let Some((deleted, _)) = self.take(unary.op.span().start(), "UnaryOperator").into_iter().next() {
            let operator = if matches!(unary.op, syn::UnOp::Not(_)) { "!" } else { "-" };
            let node = Node::Unary { operator: operator.into(), operand: self.range(&*unary.expr), deleted };
            self.nodes.push((self.range(unary), node));
        }
        visit::visit_expr_unary(self, unary);
    }

    fn visit_arm(&mut self, arm: &'ast syn::Arm) {
        let deleted = self.take(arm.pat.span().start(), "MatchArm").into_iter().map(|(number, _)| number).collect();
        let (mut always, mut never) = (Vec::new(), Vec::new());
        let after = self.range(&arm.pat).end;
        let guard = arm.guard.as_ref().map(|(_, guard)| {
            for (number, value) in self.take(guard.span().start(), "MatchArmGuard") {
                if value == "true" { always.push(number) } else { never.push(number) }
            }
            self.range(&**guard)
        });
        let node = Node::Arm { guard: guard.clone(), deleted, always, never };
        if !node.numbers().is_empty() {
            self.nodes.push((after..guard.map_or(after, |guard| guard.end), node));
        }
        visit::visit_arm(self, arm);
    }
}

fn operator_text(operator: &syn::BinOp) -> &'static str {
    use syn::BinOp::*;
    match operator {
        Add(_) => "+",
        Sub(_) => "-",
        Mul(_) => "*",
        Div(_) => "/",
        Rem(_) => "%",
        And(_) => "&&",
        Or(_) => "||",
        BitXor(_) => "^",
        BitAnd(_) => "&",
        BitOr(_) => "|",
        Shl(_) => "<<",
        Shr(_) => ">>",
        Eq(_) => "==",
        Lt(_) => "<",
        Le(_) => "<=",
        Ne(_) => "!=",
        Ge(_) => ">=",
        Gt(_) => ">",
        AddAssign(_) => "+=",
        SubAssign(_) => "-=",
        MulAssign(_) => "*=",
        DivAssign(_) => "/=",
        RemAssign(_) => "%=",
        BitXorAssign(_) => "^=",
        BitAndAssign(_) => "&=",
        BitOrAssign(_) => "|=",
        ShlAssign(_) => "<<=",
        ShrAssign(_) => ">>=",
        _ => "",
    }
}

fn is_comparison(operator: &str) -> bool {
    matches!(operator, "==" | "<" | "<=" | "!=" | ">=" | ">")
}

struct Writer<'a> {
    source: &'a str,
    nodes: &'a [(Range<usize>, Node)],
    text: String,
    placed: Vec<Placed>,
}

impl Writer<'_> {
    /// Writes the source at `range` with the nodes in it.
    fn write(&mut self, range: Range<usize>) {
        let mut position = range.start;
        let first = self.nodes.partition_point(|(node, _)| node.start < range.start);
        for index in first..self.nodes.len() {
            let (node_range, node) = &self.nodes[index];
            if node_range.start > range.end {
                break;
            }
            let edge = node_range.is_empty() && (node_range.start == range.start || node_range.start == range.end);
            if node_range.start < position || node_range.end > range.end || edge {
                continue;
            }
            self.text.push_str(&self.source[position..node_range.start]);
            position = node_range.end;
            let start = self.text.len();
            self.node(node);
            self.placed.push(Placed { range: start..self.text.len(), numbers: node.numbers(), alone: false });
        }
        self.text.push_str(&self.source[position..range.end]);
    }

    fn push(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// `if on(1) { first } else if on(2) { second } else `
    fn alternatives(&mut self, others: &Alternatives, write: impl Fn(&str) -> String) {
        for (number, other) in others {
            self.push(&format!("if {ON}({number}) {{ "));
            let start = self.text.len();
            self.push(&write(other));
            self.placed.push(Placed { range: start..self.text.len(), numbers: vec![*number], alone: true });
            self.push(" } else ");
        }
    }

    fn node(&mut self, node: &Node) {
        match node {
            Node::Binary { left, operator, right, others } => {
                let by = if is_comparison(operator) { "&" } else { "" };
                self.push(&format!("(match ({by}("));
                self.write(left.clone());
                self.push(&format!("), {by}("));
                self.write(right.clone());
                self.push(")) { (l__, r__) => ");
                self.alternatives(others, |other| format!("l__ {other} r__"));
                self.push(&format!("{{ l__ {operator} r__ }} }})"));
            }
            Node::Assign { left, operator, right, others } => {
                self.push("(match (");
                self.write(right.clone());
                self.push(") { r__ => match (&mut (");
                self.write(left.clone());
                self.push(")) { l__ => ");
                self.alternatives(others, |other| format!("*l__ {other} r__"));
                self.push(&format!("{{ *l__ {operator} r__ }} }} }})"));
            }
            Node::Lazy { left, and, right, other } => {
                self.push("(match (");
                self.write(left.clone());
                let same = if *and { "!=" } else { "==" };
                self.push(&format!(") {{ l__ => if l__ {same} {ON}({other}) {{ "));
                self.write(right.clone());
                self.push(" } else { l__ } })");
            }
            Node::Unary { operator, operand, deleted } => {
                self.push("(match (");
                self.write(operand.clone());
                self.push(&format!(") {{ v__ => if {ON}({deleted}) {{ v__ }} else {{ {operator}v__ }} }})"));
            }
            Node::Arm { guard, deleted, always, never } => {
                let none =
                    |numbers: &[u32]| numbers.iter().map(|number| format!("!{ON}({number}) && ")).collect::<String>();
                self.push(" if ");
                self.push(&none(deleted));
                self.push(&none(never));
                match guard {
                    None => self.push("true"),
                    Some(guard) => {
                        self.push("(");
                        self.push(&always.iter().map(|number| format!("{ON}({number}) || ")).collect::<String>());
                        self.write(guard.clone());
                        self.push(")");
                    }
                }
            }
            Node::Body { others } => {
                for (number, other) in others {
                    self.push(&format!("if {ON}({number}) {{ return "));
                    let start = self.text.len();
                    self.push(other);
                    self.placed.push(Placed { range: start..self.text.len(), numbers: vec![*number], alone: true });
                    self.push("; } ");
                }
            }
        }
    }
}

/// The module that holds the switch, for `count` numbers from 1.
pub fn module(count: u32) -> String {
    format!(
        r#"//! Which mutant is on: the number in MUTANT. With MUTANTS_REACHED, a file: the numbers that were asked for, at the end.
#![allow(unsafe_code, missing_docs)]
use std::sync::atomic::{{AtomicBool, AtomicU32, Ordering::Relaxed}};

const UNKNOWN: u32 = u32::MAX;
const TRACE: u32 = u32::MAX - 1;
static ACTIVE: AtomicU32 = AtomicU32::new(UNKNOWN);
static REACHED: [AtomicBool; {count} + 1] = [const {{ AtomicBool::new(false) }}; {count} + 1];

unsafe extern "C" {{
    fn atexit(callback: extern "C" fn()) -> i32;
}}

#[inline]
pub fn on(number: u32) -> bool {{
    let active = ACTIVE.load(Relaxed);
    if active >= TRACE {{
        return first(number);
    }}
    active == number
}}

#[cold]
fn first(number: u32) -> bool {{
    if ACTIVE.load(Relaxed) == UNKNOWN {{
        let active = std::env::var("MUTANT").ok().and_then(|text| text.parse().ok()).unwrap_or(0);
        if std::env::var_os("MUTANTS_REACHED").is_some() {{
            if ACTIVE.compare_exchange(UNKNOWN, TRACE, Relaxed, Relaxed).is_ok() {{
                unsafe {{ atexit(told) }};
            }}
        }} else {{
            ACTIVE.store(active, Relaxed);
            return active == number;
        }}
    }}
    REACHED[number as usize].store(true, Relaxed);
    false
}}

extern "C" fn told() {{
    let numbers: Vec<String> = (0..REACHED.len()).filter(|&i| REACHED[i].load(Relaxed)).map(|i| i.to_string()).collect();
    if let Some(path) = std::env::var_os("MUTANTS_REACHED") {{
        let _ = std::fs::write(path, numbers.join(" "));
    }}
}}
"#
    )
}
