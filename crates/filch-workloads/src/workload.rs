//! The one list of all programs, and what they have in common.

use std::fmt;

use crate::params::{ParamError, ParamSpec, Settings, check_memory, suggest};
use crate::{ForkJoin, Program, cilksort, fib, matmul, queens, uts};

/// Values of some parameters, by name; the others keep their defaults.
pub type Preset = &'static [(&'static str, &'static str)];

/// What there is to know about a workload before it is made.
#[derive(Clone, Copy, Debug)]
pub struct Spec {
    /// The name it is asked for by.
    pub name: &'static str,
    /// What it computes, in one line.
    pub summary: &'static str,
    /// The paper or program that it comes from.
    pub source: &'static str,
    /// Its parameters.
    pub params: &'static [ParamSpec],
    /// A size of some 10 to 50 ms sequentially.
    pub quick: Preset,
    /// A size of some 50 to 200 ms sequentially.
    pub compare: Preset,
    /// The size of the source.
    pub paper: Preset,
}

/// The parameters of a program.
pub(crate) trait Params: Sized {
    const SPEC: Spec;
    type Instance: Runs;

    fn parse(settings: &Settings<'_>) -> Result<Self, ParamError>;
    /// The values in the order of `SPEC.params`.
    fn values(&self) -> Vec<String>;
    fn tasks(&self) -> Option<u64>;
    fn memory_bytes(&self) -> u64;
    fn prepare(&self) -> Result<Self::Instance, ParamError>;
}

/// A program with its data. The methods are those of [`Instance`].
pub(crate) trait Runs {
    fn reset(&mut self) {}
    fn serial(&mut self) -> Answer;
    fn fork_join<J: ForkJoin>(&mut self, j: J) -> Answer;
    fn check(&self, answer: &Answer) -> Result<(), String>;
    fn tasks(&self, answer: &Answer) -> Option<u64>;
    /// How deep forks nest at most: each level takes a few frames of stack.
    fn nesting(&self) -> u64 {
        200
    }
}

macro_rules! workloads {
    ($($variant:ident($module:ident :: $params:ident, $instance:ident)),* $(,)?) => {
        #[derive(Clone, Debug)]
        enum Kind {
            $($variant($module::$params)),*
        }

        /// A program with its input and room for its output, to be run any number of times.
        ///
        /// Call [`reset`](Self::reset) before every run and [`check`](Self::check) after it: some answers are in the
        /// instance's own memory.
        #[derive(Debug)]
        #[non_exhaustive]
        pub enum Instance {
            $(#[doc = concat!("See [`", stringify!($module), "`].")] $variant($module::$instance)),*
        }

        impl Instance {
            /// The name of its workload.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Self::$variant(_) => <$module::$params as Params>::SPEC.name),*
                }
            }
        }

        const SPECS: &[Spec] = &[$(<$module::$params as Params>::SPEC),*];

        impl Kind {
            fn parse(spec: &Spec, settings: &Settings<'_>) -> Result<Self, ParamError> {
                $(if spec.name == <$module::$params as Params>::SPEC.name {
                    return Params::parse(settings).map(Self::$variant);
                })*
                unreachable!("every specification in the list is one of the above")
            }

            fn prepare(&self) -> Result<Instance, ParamError> {
                match self {
                    $(Self::$variant(params) => params.prepare().map(Instance::$variant)),*
                }
            }
        }

        macro_rules! on_kind {
            ($kind:expr, $p:ident => $result:expr) => {
                match $kind {
                    $(Kind::$variant($p) => $result),*
                }
            };
        }

        macro_rules! on_instance {
            ($of:expr, $p:ident => $result:expr) => {
                match $of {
                    $(Instance::$variant($p) => $result),*
                }
            };
        }
    };
}

workloads! {
    Fib(fib::Params, Instance),
    FibUnrolled(fib::Unrolled, UnrolledInstance),
    Queens(queens::Params, Instance),
    Uts(uts::Params, Instance),
    Matmul(matmul::Params, Instance),
    Cilksort(cilksort::Params, Instance),
}

/// All workloads.
///
/// ```
/// assert!(filch_workloads::specs().iter().any(|spec| spec.name == "fib"));
/// ```
pub fn specs() -> &'static [Spec] {
    SPECS
}

/// A program and its parameters.
///
/// ```
/// use filch_workloads::Workload;
///
/// let fib = Workload::new("fib", &[("n".into(), "30".into())])?;
/// assert_eq!(fib.params(), [("n", "30".to_owned()), ("cutoff", "0".to_owned())]);
/// assert_eq!(fib.tasks(), Some(1_346_268));
/// # Ok::<(), filch_workloads::ParamError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Workload {
    spec: &'static Spec,
    kind: Kind,
}

impl Workload {
    /// The workload of this name with some parameters set; of several values for one parameter the last one counts.
    pub fn new(name: &str, set: &[(String, String)]) -> Result<Self, ParamError> {
        let Some(spec) = SPECS.iter().find(|spec| spec.name == name) else {
            let suggestions = suggest(name, SPECS.iter().map(|spec| spec.name));
            return Err(ParamError::UnknownWorkload { name: name.to_owned(), suggestions });
        };
        let kind = Kind::parse(spec, &Settings::new(spec.name, spec.params, set)?)?;
        let workload = Self { spec, kind };
        check_memory(spec.name, workload.memory_bytes())?;
        Ok(workload)
    }

    /// The name it was asked for by.
    pub fn name(&self) -> &'static str {
        self.spec.name
    }

    /// All parameters with their values.
    pub fn params(&self) -> Vec<(&'static str, String)> {
        let values = on_kind!(&self.kind, params => params.values());
        self.spec.params.iter().map(|param| param.name).zip(values).collect()
    }

    /// The forks of one run, where that is known beforehand; see also [`Instance::tasks`].
    pub fn tasks(&self) -> Option<u64> {
        on_kind!(&self.kind, params => params.tasks())
    }

    /// Bytes of input and output together.
    pub fn memory_bytes(&self) -> u64 {
        on_kind!(&self.kind, params => params.memory_bytes())
    }

    /// Makes the input.
    pub fn prepare(&self) -> Result<Instance, ParamError> {
        self.kind.prepare()
    }
}

impl Instance {
    /// Restores the input and spoils the last output. To be called, untimed, before every run.
    pub fn reset(&mut self) {
        on_instance!(self, program => program.reset());
    }

    /// Runs the plain sequential version.
    pub fn serial(&mut self) -> Answer {
        on_instance!(self, program => program.serial())
    }

    /// Says whether `answer`, and what the last run left in memory, are right.
    pub fn check(&self, answer: &Answer) -> Result<(), String> {
        on_instance!(self, program => program.check(answer))
    }

    /// The forks of the fork–join run that gave `answer`, as far as they can be known.
    pub fn tasks(&self, answer: &Answer) -> Option<u64> {
        on_instance!(self, program => program.tasks(answer))
    }

    /// A generous estimate of the stack that a worker needs whose tasks nest as deeply as the sequential program.
    pub fn stack_bytes(&self) -> u64 {
        const BASE: u64 = 1 << 20;
        const LEVEL: u64 = 2 << 10;
        BASE + LEVEL * on_instance!(self, program => program.nesting())
    }
}

impl Program for Instance {
    type Output = Answer;

    fn run<J: ForkJoin>(&mut self, j: J) -> Answer {
        on_instance!(self, program => program.fork_join(j))
    }
}

/// What a run computed, or for a program that works in place, how much.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Answer {
    /// A number.
    Number(u64),
    /// The size of a tree.
    Tree(uts::Count),
    /// A product of two square matrices of this order is in memory.
    Product(usize),
    /// So many keys are in order in memory.
    Sorted(usize),
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Tree(uts::Count { nodes, leaves, depth }) => {
                write!(f, "{nodes} nodes, {leaves} leaves, depth {depth}")
            }
            Self::Product(n) => write!(f, "{n} × {n} product"),
            Self::Sorted(n) => write!(f, "{n} keys sorted"),
        }
    }
}

/// "`right`" or what is wrong about `answer`.
pub(crate) fn expect(answer: &Answer, right: &Answer) -> Result<(), String> {
    if answer == right { Ok(()) } else { Err(format!("the answer is {answer}, but it should be {right}")) }
}
