//! Walks over trees of known shape: their parameters.

use super::{ParamError, ParamSpec, Settings, Spec, spec, uts};

/// A run with more nodes takes days.
const MOST_NODES: u64 = 1 << 40;

/// The forms of trees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Complete, with many children per node.
    Fat,
    /// Complete, with few children per node.
    Thin,
    /// A path, each of whose nodes also has a leaf.
    Comb,
}

const FORMS: &[(&str, Form)] = &[("fat", Form::Fat), ("thin", Form::Thin), ("comb", Form::Comb)];

impl Form {
    /// The default number of children per node, and of levels below the root.
    pub const fn default(self) -> (u64, u64) {
        match self {
            Self::Fat => (100, 3),
            Self::Thin => (2, 19),
            Self::Comb => (2, 500_000),
        }
    }
}

/// The tree, and the work per node.
#[derive(Clone, Copy, Debug)]
pub struct Params {
    pub form: Form,
    pub fanout: u32,
    pub depth: u32,
    pub spin: u64,
}

impl spec::Params for Params {
    const SPEC: Spec = Spec {
        name: "trees",
        summary: "a walk over a fat tree, a thin one or a comb, a task per node",
        source: "PadWS (Wang et al., SPAA 2024)",
        params: &[
            ParamSpec { name: "tree", help: "fat, thin or comb", default: "thin" },
            ParamSpec { name: "fanout", help: "children of an inner node", default: "" },
            ParamSpec { name: "depth", help: "levels below the root", default: "" },
            ParamSpec { name: "spin", help: "nanoseconds of work per node", default: "0" },
        ],
        quick: &[("tree", "thin"), ("depth", "16"), ("spin", "200")],
        compare: &[("tree", "thin"), ("depth", "18"), ("spin", "200")],
        paper: &[("tree", "thin"), ("depth", "19")],
    };

    fn parse(settings: &Settings<'_>) -> Result<Self, ParamError> {
        let form = settings.word("tree", settings.text("tree"), FORMS)?;
        let (fanout, depth) = form.default();
        let params = Self {
            form,
            fanout: settings.whole_or("fanout", fanout, (1, u32::MAX.into()), "")? as u32,
            depth: settings.whole_or("depth", depth, (0, u32::MAX.into()), "")? as u32,
            spin: settings.whole("spin", 0, 1_000_000_000, ", a second")?,
        };
        if form == Form::Comb && u64::from(params.fanout) != fanout {
            return Err(settings.bad("fanout", "is not 2, the number of children in a comb"));
        }
        if params.size().is_none() {
            return Err(settings.bad("depth", "makes a tree of more than 2^40 nodes, which takes days"));
        }
        Ok(params)
    }

    fn values(&self) -> Vec<String> {
        let form = FORMS.iter().find(|&&(_, form)| form == self.form).map_or("", |(name, _)| name);
        vec![form.to_owned(), self.fanout.to_string(), self.depth.to_string(), self.spin.to_string()]
    }

    fn tasks(&self) -> Option<u64> {
        self.size().map(|count| count.nodes)
    }

    fn memory_bytes(&self) -> u64 {
        0
    }
}

impl Params {
    /// The size of the tree, unless it is too large.
    pub fn size(&self) -> Option<uts::Count> {
        let (fanout, depth) = (u64::from(self.fanout), u64::from(self.depth));
        let (nodes, leaves) = match (self.form, fanout) {
            (Form::Comb, _) => (2 * depth + 1, depth + 1),
            (_, 1) => (depth + 1, 1),
            _ => {
                let leaves = fanout.checked_pow(self.depth).filter(|&leaves| leaves <= MOST_NODES)?;
                // The sum over the levels.
                ((leaves * fanout - 1) / (fanout - 1), leaves)
            }
        };
        (nodes <= MOST_NODES).then_some(uts::Count { nodes, leaves, depth: self.depth })
    }
}
