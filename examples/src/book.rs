//! The pages whose examples run as doc tests.

macro_rules! pages {
    ($($name:ident: $page:literal),+ $(,)?) => {$(
        #[doc = include_str!(concat!("../../docs/book/", $page))]
        mod $name {}
    )+};
}

pages! {
    first: "first.md",
    choosing: "choosing.md",
    styles: "styles.md",
    waiting: "waiting.md",
    recipes: "recipes.md",
    pools: "pools.md",
    from_rayon: "from-rayon.md",
    from_others: "from-others.md",
    measuring: "measuring.md",
    queue: "queue.md",
}
