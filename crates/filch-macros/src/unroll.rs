//! The expansion of `#[inline_recursion(N)]`. The crate's documentation shows its form.

use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream, Parser};
use syn::punctuated::Punctuated;
use syn::{
    AttrStyle, Attribute, Error, Expr, FnArg, LitInt, Meta, Result, ReturnType, Signature, Stmt, Token, Visibility,
    parse_quote,
};

const MAX_LEVELS: usize = 16;

const FREE_FUNCTION: &str = "`#[inline_recursion]` needs a free function: \
                             move the recursion into one and call it from the method";

/// Returns the expanded function. On an error, returns the original function preceded by a compile error, so that its
/// callers do not fail as well.
pub(crate) fn expand(levels: TokenStream, function: &TokenStream) -> TokenStream {
    let expanded = parse_levels(levels).and_then(|levels| {
        let function: Function = syn::parse2(function.clone())?;
        function.check()?;
        Ok(if levels == 1 { function.into_token_stream() } else { function.unrolled(levels) })
    });
    expanded.unwrap_or_else(|error| {
        let error = error.into_compile_error();
        // An `impl` permits no item of an error message beside a method, so the error goes inside the method.
        match syn::parse2::<Function>(function.clone()) {
            Ok(function) => function.with_error(&error),
            Err(_) => quote! { #error #function },
        }
    })
}

fn parse_levels(levels: TokenStream) -> Result<usize> {
    if levels.is_empty() {
        return Err(Error::new(Span::call_site(), "missing number of levels: write `#[inline_recursion(3)]`"));
    }
    let message = format!("the number of levels must be a literal from 1 to {MAX_LEVELS}");
    let literal = syn::parse2::<LitInt>(levels).map_err(|error| Error::new(error.span(), &message))?;
    match literal.base10_parse() {
        Ok(levels @ 1..=MAX_LEVELS) => Ok(levels),
        _ => Err(Error::new(literal.span(), message)),
    }
}

/// A function whose body stays a token tree, so that this crate need not know all syntax of the compiler, and the
/// positions of the braces survive.
struct Function {
    attributes: Vec<Attribute>,
    visibility: Visibility,
    signature: Signature,
    body: Group,
}

impl Parse for Function {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let message = "`#[inline_recursion]` applies to a function with a body";
        let mut attributes = input.call(Attribute::parse_outer)?;
        let visibility = input.parse()?;
        let signature = input.parse().map_err(|error: Error| Error::new(error.span(), message))?;
        let mut body: Group = input.parse().map_err(|error| Error::new(error.span(), message))?;
        // Inner attributes are permitted only at the head of a function, and the body moves one block deeper.
        let split = |body: ParseStream<'_>| Ok((body.call(Attribute::parse_inner)?, body.parse::<TokenStream>()?));
        let (inner, rest) = split.parse2(body.stream())?;
        if !inner.is_empty() {
            attributes.extend(inner.into_iter().map(|attribute| Attribute { style: AttrStyle::Outer, ..attribute }));
            body = with_stream(&body, rest);
        }
        Ok(Self { attributes, visibility, signature, body })
    }
}

impl ToTokens for Function {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        let Self { attributes, visibility, signature, body } = self;
        tokens.extend(quote! { #(#attributes)* #visibility #signature #body });
    }
}

impl Function {
    fn check(&self) -> Result<()> {
        let Signature { ident: name, generics, inputs, .. } = &self.signature;
        let reject = |tokens: &dyn ToTokens, message: &str| Err(Error::new_spanned(tokens.to_token_stream(), message));
        if let Some(receiver) = self.signature.receiver() {
            return reject(&receiver.self_token, FREE_FUNCTION);
        }
        if let Some(keyword) = &self.signature.asyncness {
            return reject(keyword, "an `async fn` cannot be inlined: a call only creates a future");
        }
        if let Some(keyword) = &self.signature.constness {
            return reject(keyword, "`#[inline_recursion]` does not support `const fn`: remove `const`");
        }
        if let Some(dots) = &self.signature.variadic {
            return reject(dots, "a variadic function cannot be inlined");
        }
        let parameters = inputs.iter().filter_map(|input| match input {
            FnArg::Typed(parameter) => Some(parameter.pat.to_token_stream()),
            FnArg::Receiver(_) => None,
        });
        let constants = generics.const_params().map(|constant| constant.ident.to_token_stream());
        for bound in parameters.chain(constants).flat_map(flatten) {
            if matches!(&bound, TokenTree::Ident(ident) if ident == name) {
                return reject(&bound, "this parameter hides the function, which then cannot call itself: rename it");
            }
        }
        let mut found = Found::default();
        found.look(&tree(self.body.stream()), name);
        if let Some(keyword) = found.statics {
            return reject(&keyword, "every copy of the body would have its own `static`: declare it outside");
        }
        if let Some(keyword) = found.method {
            return reject(&keyword, FREE_FUNCTION);
        }
        if !found.call {
            return reject(
                name,
                &format!("`{name}` never calls itself by its plain name, so there is nothing to inline"),
            );
        }
        Ok(())
    }

    fn unrolled(self, levels: usize) -> TokenStream {
        let Self { mut attributes, visibility, signature, body } = self;
        let name = &signature.ident;
        let public = hidden("public", name);
        let next = hidden("next", name);
        let body = redirect_self_paths(&body, name, &next).unwrap_or(body);

        let copied = copied_attributes(&attributes);
        let has = |name: &str| copied.iter().any(|attribute| attribute.path().is_ident(name));
        // Rust rejects `inline(always)` together with target features.
        let (hint, branches): (Attribute, _) = match has("target_feature") {
            true => (parse_quote!(#[inline]), None),
            false => (parse_quote!(#[inline(always)]), inline_branches(&body, name)),
        };
        // A closure would hide the caller.
        let has_one_exit = branches.is_some() && !has("track_caller");
        let body = TokenTree::Group(branches.unwrap_or(body));
        // Each level's body is in a block of its own, where a user's item of the same name takes precedence.
        let mut declare_next = quote! { #[allow(warnings)] use #public as #name; };
        for _ in 1..levels {
            declare_next = quote! {
                #(#copied)*
                #[allow(warnings, clippy::inline_always)]
                #hint
                #signature { #declare_next #[allow(warnings)] use #name as #next; #body }
            };
        }
        if !attributes.iter().any(|attribute| attribute.path().is_ident("inline")) {
            attributes.push(parse_quote!(#[inline(never)]));
        }
        let outermost = if has_one_exit { one_exit(&signature, &body) } else { body.to_token_stream() };
        // The constant is rejected inside an `impl`, where a plain `name` would be another, free function.
        let free_functions_only = quote_spanned! { Span::call_site() => const _: () = (); };
        quote! {
            #(#attributes)*
            #visibility #signature {
                #[allow(warnings)]
                use #name as #public;
                { #declare_next #[allow(warnings)] use #name as #next; #outermost }
            }
            #free_functions_only
        }
    }

    /// The error goes inside the body, since an `impl` permits only its own items.
    fn with_error(&self, error: &TokenStream) -> TokenStream {
        let Self { attributes, visibility, signature, body } = self;
        let statements = body.stream();
        let body = with_stream(body, quote! { #error #statements });
        quote! { #(#attributes)* #visibility #signature #body }
    }
}

/// Wraps the body so that a panic leaves it through the function's ordinary exit.
///
/// Each fork in the body needs a landing pad. A function with a landing pad that leads out of it saves all the
/// registers that it will ever use before it examines its arguments. With several levels there are many such registers,
/// and half of all real calls save them for nothing. If one place catches all panics and resumes them through a
/// function that the compiler cannot see to diverge, the function has one exit, and saves registers only where it needs
/// them.
fn one_exit(signature: &Signature, body: &TokenTree) -> TokenStream {
    let run = hidden("run", &signature.ident);
    // A closure cannot name a type of the form `impl Trait`.
    let output = match &signature.output {
        output if flatten(output.to_token_stream()).iter().any(|token| is_ident(Some(token), "impl")) => None,
        ReturnType::Default => None,
        output => Some(output),
    };
    quote! {
        // Takes the closure with a bound, which tells the compiler that it runs once.
        #[allow(warnings, clippy::inline_always)]
        #[inline(always)]
        fn #run<T>(body: impl ::core::ops::FnOnce() -> T) -> T {
            match ::std::panic::catch_unwind(::std::panic::AssertUnwindSafe(body)) {
                ::core::result::Result::Ok(result) => result,
                ::core::result::Result::Err(payload) => {
                    let resume: fn(_) -> T = |payload| ::std::panic::resume_unwind(payload);
                    ::core::hint::black_box(resume)(payload)
                }
            }
        }
        #run(#[inline(always)] move || #output #body)
    }
}

/// Marks every closure that is a call's argument and uses the function to be inlined at any size, like the copies.
/// Returns `None` if there is none. A closure that captures by value also captures an empty array with the alignment of
/// `u128`, by which filch's `join` recognizes a closure that is inlined into another one.
fn inline_branches(group: &Group, name: &Ident) -> Option<Group> {
    let tokens = tree(group.stream());
    let mut changed = false;
    let mut result: Vec<TokenTree> = Vec::with_capacity(tokens.len());
    for (index, token) in tokens.iter().enumerate() {
        let before = before(&tokens, index);
        let inner = match token {
            // A macro decides what it makes of its arguments.
            TokenTree::Group(inner) if !is_punct(before(1), '!') => inner,
            token => {
                result.push(token.clone());
                continue;
            }
        };
        let is_call = inner.delimiter() == Delimiter::Parenthesis
            && matches!(before(1), Some(TokenTree::Ident(ident)) if syn::parse2::<Ident>(ident.to_token_stream()).is_ok());
        let inner = if is_call { inline_arguments(inner, name) } else { inline_branches(inner, name) };
        changed |= inner.is_some();
        result.push(inner.map_or_else(|| token.clone(), TokenTree::Group));
    }
    changed.then(|| with_stream(group, result.into_iter().collect()))
}

/// Does the same as [`inline_branches`] for the arguments of a call.
fn inline_arguments(group: &Group, name: &Ident) -> Option<Group> {
    let deeper = inline_branches(group, name);
    let group = deeper.as_ref().unwrap_or(group);
    // Arguments that cannot be parsed, such as patterns, have no closures.
    let Ok(mut arguments) = Punctuated::<Expr, Token![,]>::parse_terminated.parse2(group.stream()) else {
        return deeper;
    };
    let mut changed = false;
    for argument in &mut arguments {
        let mut found = Found::default();
        found.look(&tree(argument.to_token_stream()), name);
        let Expr::Closure(closure) = argument else { continue };
        if !found.call {
            continue;
        }
        changed = true;
        if !closure.attrs.iter().any(|attribute| attribute.path().is_ident("inline")) {
            closure.attrs.push(parse_quote!(#[allow(clippy::inline_always)]));
            closure.attrs.push(parse_quote!(#[inline(always)]));
        }
        if closure.capture.is_some() {
            let mark = hidden("mark", name);
            let capture: Stmt = parse_quote!(let #mark = #mark;);
            match &mut *closure.body {
                Expr::Block(body) if body.label.is_none() => body.block.stmts.insert(0, capture),
                body => *body = parse_quote!({ #capture #body }),
            }
            *argument = parse_quote!({ let #mark = [0_u128; 0]; #closure });
        }
    }
    if changed { Some(with_stream(group, arguments.into_token_stream())) } else { deeper }
}

fn hidden(role: &str, name: &Ident) -> Ident {
    format_ident!("__inline_recursion_{role}_{}", name.unraw(), span = name.span())
}

/// Returns the attributes that change what a copy means or may contain.
fn copied_attributes(attributes: &[Attribute]) -> Vec<Attribute> {
    let copy = |attribute: &Attribute| {
        let path = attribute.path();
        if path.is_ident("expect") {
            // The function itself fulfils the expectation.
            let Meta::List(list) = &attribute.meta else { return None };
            let lints = &list.tokens;
            return Some(parse_quote!(#[allow(#lints)]));
        }
        let copied = ["allow", "must_use", "track_caller", "target_feature"];
        copied.iter().any(|name| path.is_ident(name)).then(|| attribute.clone())
    };
    attributes.iter().filter_map(copy).collect()
}

fn tree(stream: TokenStream) -> Vec<TokenTree> {
    stream.into_iter().collect()
}

fn flatten(stream: TokenStream) -> Vec<TokenTree> {
    let deeper = |token| match token {
        TokenTree::Group(group) => flatten(group.stream()),
        token => vec![token],
    };
    stream.into_iter().flat_map(deeper).collect()
}

fn with_stream(group: &Group, stream: TokenStream) -> Group {
    let mut changed = Group::new(group.delimiter(), stream);
    changed.set_span(group.span());
    changed
}

fn is_punct(token: Option<&TokenTree>, character: char) -> bool {
    matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == character)
}

fn is_ident(token: Option<&TokenTree>, name: &str) -> bool {
    matches!(token, Some(TokenTree::Ident(ident)) if ident == name)
}

/// Returns the tokens before `index`, nearest first.
fn before<'t>(tokens: &'t [TokenTree], index: usize) -> impl Fn(usize) -> Option<&'t TokenTree> {
    move |distance| index.checked_sub(distance).map(|at| &tokens[at])
}

/// How the tokens to the left of a name qualify it.
#[derive(PartialEq)]
enum Qualified {
    /// `f`
    No,
    /// `self::f`
    BySelf,
    /// `Self::f`
    ByType,
    /// `path::f`, `value.f`
    Otherwise,
}

fn qualified(tokens: &[TokenTree], index: usize) -> Qualified {
    let before = before(tokens, index);
    if is_punct(before(1), ':') && is_punct(before(2), ':') {
        let first = !is_punct(before(4), ':');
        match before(3) {
            Some(TokenTree::Ident(ident)) if first && ident == "self" => Qualified::BySelf,
            Some(TokenTree::Ident(ident)) if first && ident == "Self" => Qualified::ByType,
            _ => Qualified::Otherwise,
        }
    } else if is_punct(before(1), '.') && !is_punct(before(2), '.') {
        Qualified::Otherwise
    } else {
        Qualified::No
    }
}

#[derive(Default)]
struct Found {
    call: bool,
    method: Option<TokenTree>,
    statics: Option<TokenTree>,
}

impl Found {
    fn look(&mut self, tokens: &[TokenTree], name: &Ident) {
        for (index, token) in tokens.iter().enumerate() {
            match token {
                TokenTree::Group(group) => self.look(&tree(group.stream()), name),
                TokenTree::Ident(ident) if ident == name => match qualified(tokens, index) {
                    Qualified::No | Qualified::BySelf => self.call = true,
                    Qualified::ByType => self.method = Some(tokens[index - 3].clone()),
                    Qualified::Otherwise => {}
                },
                // This includes the arguments of `thread_local!` and the like, but not the lifetime `'static`.
                TokenTree::Ident(ident) if ident == "static" && !is_punct(before(tokens, index)(1), '\'') => {
                    self.statics.get_or_insert_with(|| token.clone());
                }
                _ => {}
            }
        }
    }
}

/// Replaces `self::name` by `next`. Returns `None` if it does not occur. Other groups stay untouched, since a rebuilt
/// group loses the positions of its delimiters.
fn redirect_self_paths(group: &Group, name: &Ident, next: &Ident) -> Option<Group> {
    let tokens = tree(group.stream());
    let mut changed = false;
    let mut redirected: Vec<TokenTree> = Vec::with_capacity(tokens.len());
    for (index, token) in tokens.iter().enumerate() {
        match token {
            // In a module inside the body, `self` is that module.
            TokenTree::Group(_) if index >= 2 && is_ident(tokens.get(index - 2), "mod") => {
                redirected.push(token.clone());
            }
            TokenTree::Group(inner) => {
                let inner = redirect_self_paths(inner, name, next).inspect(|_| changed = true);
                redirected.push(inner.map_or_else(|| token.clone(), TokenTree::Group));
            }
            TokenTree::Ident(ident) if ident == name && qualified(&tokens, index) == Qualified::BySelf => {
                redirected.truncate(redirected.len() - 3);
                let mut next = next.clone();
                next.set_span(ident.span());
                redirected.push(TokenTree::Ident(next));
                changed = true;
            }
            token => redirected.push(token.clone()),
        }
    }
    changed.then(|| with_stream(group, redirected.into_iter().collect()))
}
