//! The pages whose examples run as doc tests.

macro_rules! pages {
    ($($name:ident: $page:literal),+ $(,)?) => {$(
        #[doc = include_str!(concat!("../../", $page))]
        mod $name {}
    )+};
}

pages! {
    readme: "README.md",
    first: "docs/book/first.md",
    choosing: "docs/book/choosing.md",
    styles: "docs/book/styles.md",
    waiting: "docs/book/waiting.md",
    recipes: "docs/book/recipes.md",
    pools: "docs/book/pools.md",
    from_rayon: "docs/book/from-rayon.md",
    from_others: "docs/book/from-others.md",
    measuring: "docs/book/measuring.md",
    scale: "docs/book/scale.md",
    queue: "docs/book/queue.md",
}
