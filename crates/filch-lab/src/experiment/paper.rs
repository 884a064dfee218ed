//! What a document says in a figure or table, so that it can stand beside our measurements.

/// A document that experiments reproduce.
#[derive(Debug)]
pub(crate) struct Document {
    /// The name of its ledger, with which the names of its statements begin.
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    pub(crate) authors: &'static str,
    /// Where and when it appeared.
    pub(crate) venue: &'static str,
    /// The machine of its measurements.
    pub(crate) machine: &'static str,
}

/// A figure, a table or a passage of a document.
#[derive(Debug)]
pub(crate) struct Paper {
    pub(crate) document: &'static Document,
    /// Its number, as in `figure 5`.
    pub(crate) place: &'static str,
    /// What it shows there, in a sentence or two.
    pub(crate) shows: &'static str,
    pub(crate) tables: &'static [Table],
    pub(crate) marks: &'static [Mark],
}

/// Numbers of a document, as it prints them.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) caption: &'static str,
    pub(crate) heads: &'static [&'static str],
    pub(crate) rows: &'static [&'static [&'static str]],
}

/// A series of a document in a plot of ours.
#[derive(Debug)]
pub(crate) struct Mark {
    /// The column that the plot shows against the swept parameter, or `speedup` or `relative-speedup` against the
    /// number of workers.
    pub(crate) column: &'static str,
    /// The plot of programs whose names begin so; every plot if empty.
    pub(crate) program: &'static str,
    pub(crate) label: &'static str,
    /// Position and value, in the units of the axes: seconds, ratios, counts.
    pub(crate) points: &'static [(f64, f64)],
}

pub(crate) static LACE: Document = Document {
    name: "lace",
    title: "Lace: Non-blocking Split Deque for Work-Stealing",
    authors: "T. van Dijk and J. C. van de Pol",
    venue: "Euro-Par 2014 Workshops (MuCoCoS)",
    machine: "four Opteron 6168, 48 processors",
};

pub(crate) static PADWS: Document = Document {
    name: "padws",
    title: "Work Stealing through Partial Asynchronous Delegation",
    authors: "J. Wang, Y. Liu, M. Fu, H. Härtig and H. Chen",
    venue: "SPAA 2024",
    machine: "x86, 88 hardware threads",
};

pub(crate) static PRIVATE: Document = Document {
    name: "private",
    title: "Scheduling Parallel Programs by Work Stealing with Private Deques",
    authors: "U. A. Acar, A. Charguéraud and M. Rainey",
    venue: "PPoPP 2013",
    machine: "four Xeon X7550, 30 of 32 processors in use",
};

pub(crate) static FENCE_FREE: Document = Document {
    name: "fence-free",
    title: "Fence-Free Work Stealing on Bounded TSO Processors",
    authors: "A. Morrison and Y. Afek",
    venue: "ASPLOS 2014",
    machine: "Xeon E7-4870 (Westmere-EX, ten processors) and Core i7-4770 (Haswell, four)",
};

pub(crate) static RUNTIMES: Document = Document {
    name: "runtimes",
    title: "runtime-benchmarks",
    authors: "tzcnt",
    venue: "README of its source code, July 2026",
    machine: "EPYC 7742, 64 processors",
};

pub(crate) static WSQ: Document = Document {
    name: "wsq",
    title: "Work Stealing Queue",
    authors: "injinj",
    venue: "README of its source code",
    machine: "Core i9-7960X",
};

/// The documents, in the order of pages.
pub(crate) static DOCUMENTS: [&Document; 6] = [&LACE, &PADWS, &PRIVATE, &FENCE_FREE, &WSQ, &RUNTIMES];

/// Whether a printed number is the quotient of two others, each of which may be rounded.
#[cfg(test)]
pub(crate) fn is_quotient(printed: &str, of: &str, by: &str) -> bool {
    /// From the least to the greatest number that is printed like this.
    fn range(printed: &str) -> (f64, f64) {
        let digits = printed.split_once('.').map_or(0, |(_, digits)| digits.len());
        let (value, half) = (printed.parse::<f64>().expect("a number"), 0.5 * 0.1_f64.powi(digits as i32));
        (value - half, value + half)
    }
    let (printed, of, by) = (range(printed), range(of), range(by));
    of.0 / by.1 <= printed.1 && of.1 / by.0 >= printed.0
}
