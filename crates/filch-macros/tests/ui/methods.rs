use filch_macros::inline_recursion;

struct Tree(Vec<Tree>);

fn free(n: u32) -> u32 {
    n
}

trait Depth {
    fn depth(&self) -> usize;

    #[inline_recursion(2)]
    fn without_body(&self) -> usize;
}

impl Tree {
    #[inline_recursion(2)]
    fn size(&self) -> usize {
        1 + self.0.iter().map(|tree| tree.size()).sum::<usize>()
    }

    #[inline_recursion(2)]
    fn full(n: u32) -> Tree {
        if n == 0 { Tree(vec![]) } else { Tree(vec![Self::full(n - 1), Self::full(n - 1)]) }
    }

    #[inline_recursion(2)]
    fn path(n: u32) -> Tree {
        if n == 0 { Tree(vec![]) } else { Tree(vec![Tree::path(n - 1)]) }
    }

    #[inline_recursion(2)]
    fn free(n: u32) -> u32 {
        free(n)
    }
}

impl Depth for Tree {
    #[inline_recursion(2)]
    fn depth(&self) -> usize {
        self.0.iter().map(Depth::depth).max().unwrap_or(0) + 1
    }

    fn without_body(&self) -> usize {
        0
    }
}

fn main() {
    Tree::full(1).size();
    Tree::path(1).depth();
    Tree::free(1);
}
