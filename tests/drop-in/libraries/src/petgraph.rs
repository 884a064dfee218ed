//! petgraph: PageRank of a directed graph. Each iteration is a parallel iterator over the nodes, and three more for the
//! sums and the norm (feature `rayon`).

use crate::numbers::numbers;
use petgraph::{algo::page_rank::parallel_page_rank, graph::DiGraph};

const NODES: usize = 1100;

/// Returns a run: the ranks of all nodes, and a checksum of the rounded ranks.
pub(crate) fn make() -> Box<dyn FnMut() -> u64> {
    let mut links: Vec<_> = numbers(8 * NODES)
        .iter()
        // The product makes links to low numbers likelier: without it, all ranks would be about the same.
        .map(|&x| ((x >> 48) % NODES as u64, ((x & 0xffff) * ((x >> 16) & 0xffff) * NODES as u64) >> 32))
        .map(|(from, to)| (from as u32, to as u32))
        .collect();
    // A repeated link would count once as a link, but twice in the degree.
    links.sort_unstable();
    links.dedup();
    let graph = DiGraph::<(), ()>::from_edges(links);
    assert_eq!(graph.node_count(), NODES);
    Box::new(move || {
        let ranks = parallel_page_rank(&graph, 0.85_f64, 10, None);
        assert!((ranks.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        let tenth = |i: usize| ranks[i * NODES / 10..(i + 1) * NODES / 10].iter().sum::<f64>();
        assert!(tenth(0) > 5.0 * tenth(9));
        // The order of the sums, and so their last bits, depend on the scheduling.
        ranks.iter().zip(1..).map(|(rank, weight)| weight * (rank * 1e9).round() as u64).sum()
    })
}
