//! The programs by name: their parameters and sizes, the numbers of tasks and bytes that follow, and known answers. The
//! programs themselves are in the files of the same names in `filch-workloads`.
//!
//! ```
//! use filch_catalogue::Workload;
//!
//! let fib = Workload::new("fib", &[("n".into(), "30".into())])?;
//! assert_eq!(fib.params(), [("n", "30".to_owned()), ("cutoff", "0".to_owned())]);
//! assert_eq!(fib.tasks(), Some(1_346_268));
//! # Ok::<(), filch_catalogue::ParamError>(())
//! ```

#![allow(missing_docs, reason = "fields are parameters, and constants their bounds: each `SPEC` explains them")]

mod settings;
mod spec;

pub mod cholesky;
pub mod cilksort;
pub mod closure;
pub mod each;
pub mod fft;
pub mod fib;
pub mod grain;
pub mod graph;
pub mod heat;
pub mod hull;
pub mod independent_set;
pub mod integrate;
pub mod jacobi;
pub mod keys;
pub mod knapsack;
pub mod loops;
pub mod lud;
pub mod matching;
pub mod matmul;
pub mod matmul8;
pub mod matrix;
pub mod nqueens;
pub mod pseudo_dfs;
pub mod quarters;
pub mod queens;
pub mod queue;
pub mod quicksort;
pub mod rounds;
pub mod samplesort;
pub mod skynet;
pub mod sleeps;
pub mod spanning_tree;
pub mod strassen;
pub mod trees;
pub mod uts;
pub mod wsq;

use crate::names::suggest;
use settings::check_memory;

pub use settings::{Memory, ParamError, ParamSpec, Settings, available_memory};
pub use spec::{Kind, Params, Preset, Spec};

/// Calls a macro with the list of all programs: names of variants, and the types of parameters, by kind.
///
/// To add a program, add a line here: the [list](specs) and the runs in `filch-workloads` follow from it.
///
/// ```
/// macro_rules! count {
///     ($($kind:ident { $($variant:ident($module:ident::$params:ident),)* })*) => {
///         [$([$(stringify!($variant)),*].len()),*]
///     };
/// }
/// let counts = filch_catalogue::for_each_program!(count);
/// assert_eq!(counts.iter().sum::<usize>(), filch_catalogue::specs().len());
/// ```
#[macro_export]
macro_rules! for_each_program {
    ($then:ident) => {
        $then! {
            fork_join {
                Fib(fib::Params),
                FibUnrolled(fib::Unrolled),
                Skynet(skynet::Params),
                SkynetUnrolled(skynet::Unrolled),
                Queens(queens::Params),
                NQueens(nqueens::Params),
                Uts(uts::Params),
                Matmul(matmul::Params),
                Cilksort(cilksort::Params),
                Quicksort(quicksort::Params),
                Integrate(integrate::Params),
                Jacobi(jacobi::Params),
                Heat(heat::Params),
                Fft(fft::Params),
                Strassen(strassen::Params),
                Lud(lud::Params),
                Knapsack(knapsack::Params),
                MatmulQuarters(quarters::Params),
                MatmulInPlace(matmul8::InPlace),
                MatmulTemporaries(matmul8::Temporaries),
                Samplesort(samplesort::Params),
                Hull(hull::Params),
                Cholesky(cholesky::Params),
                IndependentSet(independent_set::Params),
                Matching(matching::Params),
                Each(each::Params),
                Loops(loops::Params),
                Spread(sleeps::Spread),
                Grain(sleeps::Grain),
            }
            worklist {
                PseudoDfs(pseudo_dfs::Params),
                Closure(closure::Params),
                SpanningTree(spanning_tree::Params),
                Trees(trees::Params),
            }
            jobs {
                Wsq(wsq::Params),
            }
            queue {
                OwnerThroughput(queue::OwnerThroughput),
                StealLatency(queue::StealLatency),
                StealThroughput(queue::StealThroughput),
            }
        }
    };
}

macro_rules! programs {
    (
        fork_join { $($forks:ident($forks_module:ident::$forks_params:ident),)* }
        worklist { $($lists:ident($lists_module:ident::$lists_params:ident),)* }
        jobs { $($makes:ident($makes_module:ident::$makes_params:ident),)* }
        queue { $($uses:ident($uses_module:ident::$uses_params:ident),)* }
    ) => {
        programs! {
            all
            $($forks($forks_module::$forks_params),)*
            $($lists($lists_module::$lists_params),)*
            $($makes($makes_module::$makes_params),)*
            $($uses($uses_module::$uses_params),)*
        }

        impl Spec {
            /// How the program creates its tasks.
            pub fn kind(&self) -> Kind {
                let lists: &[&str] = &[$(<$lists_module::$lists_params as Params>::SPEC.name),*];
                let makes: &[&str] = &[$(<$makes_module::$makes_params as Params>::SPEC.name),*];
                let uses: &[&str] = &[$(<$uses_module::$uses_params as Params>::SPEC.name),*];
                match self.name {
                    name if lists.contains(&name) => Kind::Worklist,
                    name if makes.contains(&name) => Kind::Jobs,
                    name if uses.contains(&name) => Kind::Queue,
                    _ => Kind::ForkJoin,
                }
            }
        }
    };
    (all $($variant:ident($module:ident::$params:ident),)*) => {
        /// The parameters of any program, with values.
        #[derive(Clone, Debug)]
        pub enum Chosen {
            $(#[doc = concat!("See [`", stringify!($module), "`].")] $variant($module::$params)),*
        }

        const SPECS: &[Spec] = &[$(<$module::$params as Params>::SPEC),*];

        impl Chosen {
            fn parse(spec: &Spec, settings: &Settings<'_>) -> Result<Self, ParamError> {
                $(if spec.name == <$module::$params as Params>::SPEC.name {
                    return Params::parse(settings).map(Self::$variant);
                })*
                unreachable!("the list has no other specification")
            }
        }

        macro_rules! on_chosen {
            ($of:expr, $p:ident => $result:expr) => {
                match $of {
                    $(Chosen::$variant($p) => $result),*
                }
            };
        }
    };
}

for_each_program!(programs);

/// All workloads.
///
/// ```
/// assert!(filch_catalogue::specs().iter().any(|spec| spec.name == "fib"));
/// ```
pub fn specs() -> &'static [Spec] {
    SPECS
}

/// A program and its parameters.
///
/// ```
/// use filch_catalogue::Workload;
///
/// let fib = Workload::new("fib", &[("n".into(), "30".into())])?;
/// assert_eq!(fib.params(), [("n", "30".to_owned()), ("cutoff", "0".to_owned())]);
/// assert_eq!(fib.tasks(), Some(1_346_268));
/// # Ok::<(), filch_catalogue::ParamError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Workload {
    spec: &'static Spec,
    chosen: Chosen,
}

impl Workload {
    /// Returns the workload of this name with some parameters set; the last of several values for one parameter counts.
    ///
    /// # Errors
    /// If there is no such workload, parameter or value, or if its data do not fit into memory.
    pub fn new(name: &str, set: &[(String, String)]) -> Result<Self, ParamError> {
        Self::of_any_size(name, set)?.fitting()
    }

    /// Returns the workload if its data fit into memory.
    ///
    /// ```
    /// use filch_catalogue::Workload;
    ///
    /// let sort = |n: &str| Workload::of_any_size("cilksort", &[("n".to_owned(), n.to_owned())]).unwrap();
    /// assert!(sort("1000").fitting().is_ok() && sort("1000000000000").fitting().is_err());
    /// ```
    ///
    /// # Errors
    /// If they do not.
    pub fn fitting(self) -> Result<Self, ParamError> {
        check_memory(self.name(), self.memory_bytes())?;
        Ok(self)
    }

    /// As [`Workload::new`], even if its data do not fit into memory: to describe it, not to run it.
    ///
    /// # Errors
    /// If there is no such workload, parameter or value.
    pub fn of_any_size(name: &str, set: &[(String, String)]) -> Result<Self, ParamError> {
        let Some(spec) = SPECS.iter().find(|spec| spec.name == name) else {
            let suggestions = suggest(name, SPECS.iter().map(|spec| spec.name));
            return Err(ParamError::UnknownWorkload { name: name.to_owned(), suggestions });
        };
        let chosen = Chosen::parse(spec, &Settings::new(spec.name, spec.params, set)?)?;
        Ok(Self { spec, chosen })
    }

    /// Parses a program as command lines write it, even if its data do not fit into memory; `preset` chooses the
    /// parameters that are not written.
    ///
    /// ```
    /// use filch_catalogue::Workload;
    ///
    /// let fib = Workload::parse("fib:n=30:cutoff=3", |spec| spec.quick).unwrap();
    /// assert_eq!(fib.params(), [("n", "30".to_owned()), ("cutoff", "3".to_owned())]);
    /// assert!(Workload::parse("fib:n=30,cutoff=3", |spec| spec.quick).is_err());
    /// ```
    ///
    /// # Errors
    /// As [`Workload::of_any_size`], or if the notation is another: a sentence.
    pub fn parse(text: &str, preset: impl Fn(&Spec) -> Preset) -> Result<Self, String> {
        let (name, set) = text.split_once(':').unwrap_or((text, ""));
        if set.contains(',') {
            let meant = text.replace(',', ":");
            return Err(format!("parameters are separated by colons: `{meant}` instead of `{text}`"));
        }
        let preset = SPECS.iter().find(|spec| spec.name == name).map_or(&[][..], |spec| preset(spec));
        let mut all: Vec<_> = preset.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
        for text in set.split(':').filter(|text| !text.is_empty()) {
            all.push(crate::assignment(text)?);
        }
        Self::of_any_size(name, &all).map_err(|error| error.to_string())
    }

    /// The program's name.
    pub fn name(&self) -> &'static str {
        self.spec.name
    }

    /// How the program creates its tasks.
    pub fn kind(&self) -> Kind {
        self.spec.kind()
    }

    /// The parameters, from which the program is made.
    pub fn chosen(&self) -> &Chosen {
        &self.chosen
    }

    /// Whether this is a worklist or queue program whose tasks may run twice.
    pub fn is_idempotent(&self) -> bool {
        on_chosen!(&self.chosen, params => params.is_idempotent())
    }

    /// All parameters with their values.
    pub fn params(&self) -> Vec<(&'static str, String)> {
        let values = on_chosen!(&self.chosen, params => params.values());
        self.spec.params.iter().map(|param| param.name).zip(values).collect()
    }

    /// The forks of one run, or the tasks of a worklist or job program, if known in advance.
    pub fn tasks(&self) -> Option<u64> {
        on_chosen!(&self.chosen, params => params.tasks())
    }

    /// The bytes of input and output.
    pub fn memory_bytes(&self) -> u64 {
        on_chosen!(&self.chosen, params => params.memory_bytes())
    }
}

/// Returns well mixed bits of `(seed, index)`: the finaliser of SplitMix64. Any thread can compute any element of an
/// input.
///
/// ```
/// use filch_catalogue::programs::hash;
///
/// assert_eq!(hash(1, 2), hash(1, 2));
/// assert_ne!(hash(1, 2), hash(2, 1));
/// ```
#[inline]
pub fn hash(seed: u64, index: u64) -> u64 {
    let mut z = seed.wrapping_add(index.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The bytes of a mesh with this many points: the input, two arrays, and the right result with its second array.
fn mesh_bytes(points: u64) -> u64 {
    5 * 8 * points
}
