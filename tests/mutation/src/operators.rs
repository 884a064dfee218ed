//! The mutation operators: where and how they change a source.
//!
//! A *point* is a piece of source: an expression, a run of statements, the start of a function. It has alternatives,
//! each a mutant. What must always hold: an alternative has the type of what it replaces, as far as the syntax shows;
//! and it is a mistake of logic. Orderings stay unchanged, since `filch check --weaken` covers them.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use proc_macro2::Span;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{BinOp, Block, Expr, Item, Lit, ReturnType, Stmt, UnOp};

/// How an alternative changes a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// The alternative replaces an expression or a run of statements.
    Instead,
    /// Statements are removed.
    Without,
    /// A function begins with the alternative.
    Before,
}

#[derive(Clone, Debug)]
pub struct Point {
    pub range: Range<usize>,
    pub form: Form,
    pub is_statement: bool,
    pub function: String,
    /// The replacements, and their names.
    pub alternatives: Vec<(String, String)>,
}

/// Returns all points of a source by position, outer ones first.
pub fn points(source: &str) -> Vec<Point> {
    let file = syn::parse_file(source).expect("a source that compiles");
    let mut names = Names { source, ..Names::default() };
    names.visit_file(&file);
    let mut finder = Finder { source, names, function: Vec::new(), returns: Vec::new(), found: BTreeMap::new() };
    finder.visit_file(&file);
    finder.found.into_values().collect()
}

/// The states that a source declares.
#[derive(Default)]
struct Names<'s> {
    source: &'s str,
    /// Constants, by type.
    constants: HashMap<String, Vec<String>>,
    /// Enumerations without fields.
    variants: HashMap<String, Vec<String>>,
}

impl<'ast> Visit<'ast> for Names<'_> {
    fn visit_item_const(&mut self, item: &'ast syn::ItemConst) {
        let is_state = matches!(&*item.expr, Expr::Lit(_));
        let kind = self.source[item.ty.span().byte_range()].to_owned();
        if is_state && matches!(&*kind, "u32" | "u64" | "usize") {
            self.constants.entry(kind).or_default().push(item.ident.to_string());
        }
    }

    fn visit_item_enum(&mut self, item: &'ast syn::ItemEnum) {
        if item.variants.iter().all(|variant| variant.fields.is_empty()) {
            let variants = item.variants.iter().map(|variant| variant.ident.to_string()).collect();
            self.variants.insert(item.ident.to_string(), variants);
        }
    }
}

struct Finder<'s> {
    source: &'s str,
    names: Names<'s>,
    function: Vec<String>,
    returns: Vec<String>,
    /// Sorted by start, larger points first, then by form; each key has one point.
    found: BTreeMap<(usize, std::cmp::Reverse<usize>, u8), Point>,
}

impl<'s> Finder<'s> {
    fn text(&self, of: impl Spanned) -> &'s str {
        &self.source[of.span().byte_range()]
    }

    fn add(&mut self, span: Span, form: Form, is_statement: bool, text: String, what: String) {
        self.add_at(span.byte_range(), form, is_statement, text, what);
    }

    fn add_at(&mut self, range: Range<usize>, form: Form, is_statement: bool, text: String, what: String) {
        let function = self.function.join("::");
        if function.is_empty() {
            return;
        }
        let key = (range.start, std::cmp::Reverse(range.end), form as u8);
        let point = self.found.entry(key);
        let point = point.or_insert_with(|| Point { range, form, is_statement, function, alternatives: Vec::new() });
        if point.alternatives.iter().all(|(other, _)| *other != text) {
            point.alternatives.push((text, what));
        }
    }

    fn instead(&mut self, of: &Expr, text: String) {
        let what = format!("`{}` → `{}`", squeeze(self.text(of)), squeeze(&text));
        self.add(of.span(), Form::Instead, false, text, what);
    }

    fn condition(&mut self, condition: &Expr) {
        if !holds_let(condition) {
            self.instead(condition, "true".into());
            self.instead(condition, "false".into());
        }
    }

    /// Adds points for statements whose removal still compiles.
    fn statements(&mut self, block: &Block) {
        let mut run: Vec<&Stmt> = Vec::new();
        for (index, statement) in block.stmts.iter().enumerate() {
            let is_last = index + 1 == block.stmts.len();
            let is_simple = match statement {
                Stmt::Expr(expression, Some(_)) => !matches!(expression, Expr::Macro(_)),
                Stmt::Expr(Expr::If(expression), None) => expression.else_branch.is_none(),
                Stmt::Expr(Expr::ForLoop(_) | Expr::While(_), None) => true,
                _ => false,
            };
            let diverges = matches!(statement, Stmt::Expr(Expr::Return(_) | Expr::Break(_) | Expr::Continue(_), _));
            if is_simple {
                let what = format!("without `{}`", squeeze(self.text(statement)));
                self.add(statement.span(), Form::Without, true, String::new(), what);
            }
            if is_simple && !diverges {
                run.push(statement);
            }
            if !is_simple || diverges || is_last {
                self.swaps(&std::mem::take(&mut run));
            }
        }
    }

    fn swaps(&mut self, run: &[&Stmt]) {
        let [first, .., last] = run else { return };
        let range = first.span().byte_range().start..last.span().byte_range().end;
        for at in 1..run.len() {
            if [run[at - 1], run[at]].into_iter().any(|statement| is_private(statement, self.text(statement))) {
                continue;
            }
            let mut order: Vec<&str> = run.iter().map(|&statement| self.text(statement)).collect();
            order.swap(at - 1, at);
            let what = format!("`{}` before `{}`", squeeze(order[at - 1]), squeeze(order[at]));
            self.add_at(range.clone(), Form::Instead, true, order.join("\n"), what);
        }
    }

    fn begin(&mut self, name: String, signature: &syn::Signature, block: &Block) {
        self.function.push(name);
        let returns = match &signature.output {
            ReturnType::Default => "()".to_owned(),
            ReturnType::Type(_, kind) => squeeze(self.text(kind)),
        };
        let has_task = signature.inputs.iter().any(|input| self.text(input).starts_with("task:"));
        let early: &[&str] = match &*returns {
            "()" => &[""],
            "bool" => &["true", "false"],
            "usize" | "u32" | "u64" | "i64" => &["0", "1"],
            "Result<(), Full<Task>>" if has_task => &["Err(Full(task))"],
            _ if returns.starts_with("Option<") => &["None"],
            _ if returns.starts_with("Steal<") => &["Steal::Empty", "Steal::Pending", "Steal::Retry"],
            _ => &[],
        };
        let body = block.span().byte_range();
        // Only inner attributes precede the first statement, and these sources have none.
        let start = body.start + 1;
        for value in early {
            let what = if value.is_empty() { "does nothing".into() } else { format!("returns `{value}`") };
            self.add_at(start..start, Form::Before, true, format!("return {value};"), what);
        }
        self.returns.push(returns);
    }

    fn end(&mut self) {
        self.function.pop();
        self.returns.pop();
    }
}

/// Whether a statement only sets a variable of its own thread: its order among others does not matter.
fn is_private(statement: &Stmt, text: &str) -> bool {
    const MEMORY: &[&str] = &["load(", "store(", "swap(", "compare_exchange", "fetch_", "fence(", "read(", "take("];
    let sets = match statement {
        Stmt::Expr(Expr::Assign(_), _) => true,
        Stmt::Expr(Expr::Binary(binary), _) => matches!(binary.op, BinOp::AddAssign(_) | BinOp::SubAssign(_)),
        _ => false,
    };
    sets && !MEMORY.iter().any(|operation| text.contains(operation))
}

fn is_test(attributes: &[syn::Attribute]) -> bool {
    let is = |attribute: &syn::Attribute| {
        attribute.path().is_ident("test")
            || attribute.path().is_ident("cfg")
                && quote(attribute).is_some_and(|text| text.contains("test") || text.contains("not("))
    };
    attributes.iter().any(is)
}

fn quote(attribute: &syn::Attribute) -> Option<String> {
    attribute.meta.require_list().ok().map(|list| list.tokens.to_string())
}

fn holds_let(expression: &Expr) -> bool {
    struct Lets(bool);
    impl Visit<'_> for Lets {
        fn visit_expr_let(&mut self, _: &syn::ExprLet) {
            self.0 = true;
        }
        fn visit_expr_closure(&mut self, _: &syn::ExprClosure) {}
        fn visit_block(&mut self, _: &Block) {}
    }
    let mut lets = Lets(false);
    lets.visit_expr(expression);
    lets.0
}

/// Returns the text on one line, without comments.
pub fn squeeze(text: &str) -> String {
    let lines = text.lines().map(|line| line.split("// ").next().unwrap_or_default().trim());
    let all = lines.filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ");
    if all.chars().count() > 90 { all.chars().take(87).collect::<String>() + "…" } else { all }
}

/// The operators that replace a binary operator.
fn otherwise(operator: &BinOp) -> &'static [&'static str] {
    match operator {
        BinOp::Lt(_) => &["<=", ">="],
        BinOp::Le(_) => &["<", ">"],
        BinOp::Gt(_) => &[">=", "<="],
        BinOp::Ge(_) => &[">", "<"],
        BinOp::Eq(_) => &["!="],
        BinOp::Ne(_) => &["=="],
        BinOp::And(_) => &["||"],
        BinOp::Or(_) => &["&&"],
        BinOp::Add(_) => &["-"],
        BinOp::Sub(_) => &["+"],
        BinOp::Mul(_) => &["+"],
        BinOp::Rem(_) => &["/"],
        BinOp::BitAnd(_) => &["|"],
        BinOp::BitOr(_) => &["&"],
        BinOp::BitXor(_) => &["|"],
        BinOp::Shl(_) => &[">>"],
        BinOp::Shr(_) => &["<<"],
        BinOp::AddAssign(_) => &["-="],
        BinOp::SubAssign(_) => &["+="],
        BinOp::BitAndAssign(_) => &["|="],
        BinOp::BitOrAssign(_) => &["&="],
        _ => &[],
    }
}

/// Pairs of methods that replace each other.
const METHODS: &[(&str, &str)] = &[
    ("wrapping_add", "wrapping_sub"),
    ("saturating_add", "wrapping_sub"),
    ("saturating_sub", "wrapping_add"),
    ("min", "max"),
    ("any", "all"),
    ("push_back", "push_front"),
    ("pop_back", "pop_front"),
    ("fetch_add", "fetch_sub"),
    ("fetch_or", "fetch_and"),
    ("is_some", "is_none"),
    ("is_ok", "is_err"),
    ("max_by_key", "min_by_key"),
    ("take", "skip"),
];

fn other_method(name: &str) -> Option<&'static str> {
    METHODS.iter().find_map(|&(a, b)| {
        if name == a {
            Some(b)
        } else if name == b {
            Some(a)
        } else {
            None
        }
    })
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        match item {
            Item::Const(_) | Item::Static(_) | Item::Macro(_) | Item::Enum(_) | Item::Struct(_) | Item::Trait(_) => {}
            Item::Mod(module) if is_test(&module.attrs) => {}
            Item::Impl(block) if is_of_display(block) => {}
            _ => visit::visit_item(self, item),
        }
    }

    fn visit_impl_item_const(&mut self, _: &'ast syn::ImplItemConst) {}

    fn visit_type(&mut self, _: &'ast syn::Type) {}

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        if is_test(&item.attrs) || item.sig.constness.is_some() {
            return;
        }
        self.begin(item.sig.ident.to_string(), &item.sig, &item.block);
        self.visit_block(&item.block);
        self.end();
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        if is_test(&item.attrs) || item.sig.constness.is_some() {
            return;
        }
        self.begin(item.sig.ident.to_string(), &item.sig, &item.block);
        self.visit_block(&item.block);
        self.end();
    }

    fn visit_block(&mut self, block: &'ast Block) {
        self.statements(block);
        visit::visit_block(self, block);
    }

    fn visit_local(&mut self, local: &'ast syn::Local) {
        // The `else` of a `let … else` must diverge.
        if let Some(init) = &local.init {
            self.visit_expr(&init.expr);
            if let Some((_, otherwise)) = &init.diverge
                && let Expr::Block(block) = &**otherwise
            {
                block.block.stmts.iter().for_each(|statement| visit::visit_stmt(self, statement));
            }
        }
    }

    fn visit_expr_if(&mut self, expression: &'ast syn::ExprIf) {
        self.condition(&expression.cond);
        visit::visit_expr_if(self, expression);
    }

    fn visit_expr_while(&mut self, expression: &'ast syn::ExprWhile) {
        if !holds_let(&expression.cond) {
            self.instead(&expression.cond, "false".into());
        }
        visit::visit_expr_while(self, expression);
    }

    fn visit_arm(&mut self, arm: &'ast syn::Arm) {
        if let Some((_, guard)) = &arm.guard {
            self.condition(guard);
            self.visit_expr(guard);
        }
        self.visit_expr(&arm.body);
    }

    fn visit_expr(&mut self, expression: &'ast Expr) {
        match expression {
            Expr::Binary(binary) if matches!(binary.op, BinOp::Shl(_) | BinOp::Shr(_)) => {
                // The two sides of a format agree on the distance: a change on one side is found, and on both it is no
                // mistake.
                let (left, right) = (self.text(&*binary.left), self.text(&*binary.right));
                for other in otherwise(&binary.op) {
                    self.instead(expression, format!("{left} {other} {right}"));
                }
                return self.visit_expr(&binary.left);
            }
            Expr::Binary(binary) => {
                let (left, right) = (self.text(&*binary.left), self.text(&*binary.right));
                // One of two boolean operands may be dropped.
                if matches!(binary.op, BinOp::And(_) | BinOp::Or(_)) {
                    if holds_let(expression) {
                        return visit::visit_expr(self, expression);
                    }
                    self.instead(expression, left.to_owned());
                    self.instead(expression, right.to_owned());
                }
                for other in otherwise(&binary.op) {
                    self.instead(expression, format!("{left} {other} {right}"));
                }
            }
            Expr::Unary(unary) if matches!(unary.op, UnOp::Not(_)) => {
                self.instead(expression, self.text(&*unary.expr).to_owned());
            }
            Expr::Lit(literal) => {
                if let Lit::Int(number) = &literal.lit
                    && let Ok(value) = number.base10_parse::<u64>()
                {
                    let suffix = number.suffix();
                    self.instead(expression, format!("{}{suffix}", value + 1));
                    if let Some(less) = value.checked_sub(1) {
                        self.instead(expression, format!("{less}{suffix}"));
                    }
                }
                if let Lit::Bool(value) = &literal.lit {
                    self.instead(expression, (!value.value).to_string());
                }
            }
            Expr::MethodCall(call) => {
                let name = call.method.to_string();
                let (text, at) = (self.text(expression), call.method.span().byte_range());
                let start = expression.span().byte_range().start;
                if let Some(other) = other_method(&name) {
                    let (before, after) = (&text[..at.start - start], &text[at.end - start..]);
                    self.instead(expression, format!("{before}{other}{after}"));
                }
                if matches!(&*name, "is_empty" | "is_null" | "is_power_of_two") {
                    self.instead(expression, format!("!{text}"));
                }
                if text.contains(".rev()") && name != "rev" {
                    self.instead(expression, text.replacen(".rev()", "", 1));
                }
            }
            Expr::Path(path) => self.path(expression, &path.path),
            _ => {}
        }
        visit::visit_expr(self, expression);
    }

    // The contents of a macro are not parsed; patterns and types are no expressions.
    fn visit_macro(&mut self, _: &'ast syn::Macro) {}
    fn visit_pat(&mut self, _: &'ast syn::Pat) {}
    fn visit_attribute(&mut self, _: &'ast syn::Attribute) {}
    fn visit_expr_repeat(&mut self, _: &'ast syn::ExprRepeat) {}
    fn visit_generic_argument(&mut self, _: &'ast syn::GenericArgument) {}
}

impl Finder<'_> {
    /// Replaces a state by another of the same kind.
    fn path(&mut self, expression: &Expr, path: &syn::Path) {
        let names: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        match &names.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            ["Steal", answer @ ("Empty" | "Pending" | "Retry" | "Aborted")] => {
                for other in ["Empty", "Pending", "Retry"].into_iter().filter(|other| other != answer) {
                    self.instead(expression, format!("Steal::{other}"));
                }
            }
            ["StealIndex", answer @ ("AllStolen" | "NothingShared" | "Retry")] => {
                for other in ["AllStolen", "NothingShared", "Retry"].into_iter().filter(|other| other != answer) {
                    self.instead(expression, format!("StealIndex::{other}"));
                }
            }
            [kind, variant] if *kind != "Ordering" => {
                let variants = self.names.variants.get(*kind).cloned().unwrap_or_default();
                if let Some(at) = variants.iter().position(|other| other == variant) {
                    self.instead(expression, format!("{kind}::{}", variants[(at + 1) % variants.len()]));
                }
            }
            [name] if name.chars().all(|letter| letter.is_ascii_uppercase() || letter == '_') => {
                let same = self.names.constants.values().find(|names| names.iter().any(|other| other == name)).cloned();
                let same = same.unwrap_or_default();
                if let (Some(at), true) = (same.iter().position(|other| other == name), same.len() > 1) {
                    self.instead(expression, same[(at + 1) % same.len()].clone());
                }
            }
            _ => {}
        }
    }
}

fn is_of_display(block: &syn::ItemImpl) -> bool {
    let of =
        |path: &syn::Path| path.segments.last().is_some_and(|last| last.ident == "Debug" || last.ident == "Display");
    block.trait_.as_ref().is_some_and(|(_, path, _)| of(path))
}
