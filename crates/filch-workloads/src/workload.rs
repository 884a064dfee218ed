//! The one list of all programs: any of them by its name.

use filch::worklist::Queue;
use filch::{jobs, worklist};

use crate::answer::{Answer, Listed};
use crate::params::{ParamError, Settings, check_memory, suggest};
use crate::spec::{Forks, Kind, Lists, Makes, Params, Runs, Spec};
use crate::{
    ForkJoin, Program, cholesky, cilksort, closure, fft, fib, heat, hull, independent_set, integrate, jacobi, knapsack,
    lud, matching, matmul, matmul8, pseudo_dfs, queens, quicksort, samplesort, sleeps, spanning_tree, strassen, trees,
    uts, wsq,
};

macro_rules! workloads {
    (
        fork_join { $($forks:ident($forks_module:ident :: $forks_params:ident, $forks_instance:ident)),* $(,)? }
        worklist { $($lists:ident($lists_module:ident :: $lists_params:ident, $lists_instance:ident)),* $(,)? }
        jobs { $($makes:ident($makes_module:ident :: $makes_params:ident, $makes_instance:ident)),* $(,)? }
    ) => {
        workloads! {
            all
            $($forks($forks_module::$forks_params, $forks_instance),)*
            $($lists($lists_module::$lists_params, $lists_instance),)*
            $($makes($makes_module::$makes_params, $makes_instance),)*
        }

        impl Spec {
            /// How the program makes its tasks.
            pub fn kind(&self) -> Kind {
                let lists: &[&str] = &[$(<$lists_module::$lists_params as Params>::SPEC.name),*];
                let makes: &[&str] = &[$(<$makes_module::$makes_params as Params>::SPEC.name),*];
                match self.name {
                    name if lists.contains(&name) => Kind::Worklist,
                    name if makes.contains(&name) => Kind::Jobs,
                    _ => Kind::ForkJoin,
                }
            }
        }

        impl Program for Instance {
            type Output = Answer;

            /// # Panics
            /// If it is not a fork–join program: see [`Instance::kind`].
            fn run<J: ForkJoin>(&mut self, j: J) -> Answer {
                match self {
                    $(Self::$forks(program) => program.fork_join(j),)*
                    other => panic!("{} does not fork and join", other.name()),
                }
            }
        }

        impl Instance {
            /// Runs a worklist program on queues that return each task once.
            ///
            /// ```
            /// use filch::worklist::Worklist;
            /// use filch_workloads::Workload;
            ///
            /// let mut closure = Workload::new("closure", &[("n".into(), "1000".into())])?.prepare()?;
            /// closure.reset();
            /// let run = closure.list_exactly_once(&mut Worklist::new(2).start()?);
            /// assert!(closure.check(&run.answer).is_ok());
            /// # Ok::<(), Box<dyn std::error::Error>>(())
            /// ```
            ///
            /// # Panics
            /// If it is not a worklist program: see [`Instance::kind`].
            pub fn list_exactly_once<Q: Queue>(&mut self, team: &mut worklist::Team<Q>) -> Listed {
                match self {
                    $(Self::$lists(program) => program.exactly_once(team),)*
                    other => panic!("{} is not a worklist program", other.name()),
                }
            }

            /// Runs a worklist program whose tasks may be run twice, also on queues that may return one twice; `None` if it is not one.
            pub fn list_at_least_once<Q: Queue>(&mut self, team: &mut worklist::Team<Q>) -> Option<Listed> {
                match self {
                    $(Self::$lists(program) => program.at_least_once(team),)*
                    _ => None,
                }
            }

            /// Runs a job program.
            ///
            /// ```
            /// use filch::jobs::Jobs;
            /// use filch_workloads::Workload;
            ///
            /// let mut wsq = Workload::new("wsq", &[])?.prepare()?;
            /// let run = wsq.run_jobs(&mut Jobs::new(2).start()?);
            /// assert!(wsq.check(&run.answer).is_ok());
            /// # Ok::<(), Box<dyn std::error::Error>>(())
            /// ```
            ///
            /// # Panics
            /// If it is not a job program: see [`Instance::kind`].
            pub fn run_jobs<Q: Queue>(&mut self, team: &mut jobs::Team<Q>) -> Listed {
                match self {
                    $(Self::$makes(program) => program.jobs(team),)*
                    other => panic!("{} is not a job program", other.name()),
                }
            }
        }
    };
    (all $($variant:ident($module:ident :: $params:ident, $instance:ident),)*) => {
        #[derive(Clone, Debug)]
        enum Made {
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
            fn spec(&self) -> &'static Spec {
                match self {
                    $(Self::$variant(_) => const { &<$module::$params as Params>::SPEC }),*
                }
            }
        }

        const SPECS: &[Spec] = &[$(<$module::$params as Params>::SPEC),*];

        impl Made {
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

        macro_rules! on_made {
            ($of:expr, $p:ident => $result:expr) => {
                match $of {
                    $(Made::$variant($p) => $result),*
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
    fork_join {
        Fib(fib::Params, Instance),
        FibUnrolled(fib::Unrolled, UnrolledInstance),
        Queens(queens::Params, Instance),
        Uts(uts::Params, Instance),
        Matmul(matmul::Params, Instance),
        Cilksort(cilksort::Params, Instance),
        Quicksort(quicksort::Params, Instance),
        Integrate(integrate::Params, Instance),
        Jacobi(jacobi::Params, Instance),
        Heat(heat::Params, Instance),
        Fft(fft::Params, Instance),
        Strassen(strassen::Params, Instance),
        Lud(lud::Params, Instance),
        Knapsack(knapsack::Params, Instance),
        MatmulInPlace(matmul8::InPlace, InPlaceInstance),
        MatmulTemporaries(matmul8::Temporaries, TemporariesInstance),
        Samplesort(samplesort::Params, Instance),
        Hull(hull::Params, Instance),
        Cholesky(cholesky::Params, Instance),
        IndependentSet(independent_set::Params, Instance),
        Matching(matching::Params, Instance),
        Spread(sleeps::Spread, SpreadInstance),
        Grain(sleeps::Grain, GrainInstance),
    }
    worklist {
        PseudoDfs(pseudo_dfs::Params, Instance),
        Closure(closure::Params, Instance),
        SpanningTree(spanning_tree::Params, Instance),
        Trees(trees::Params, Instance),
    }
    jobs {
        Wsq(wsq::Params, Instance),
    }
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
    made: Made,
}

impl Workload {
    /// The workload of this name with some parameters set; of several values for one parameter the last one counts.
    pub fn new(name: &str, set: &[(String, String)]) -> Result<Self, ParamError> {
        let Some(spec) = SPECS.iter().find(|spec| spec.name == name) else {
            let suggestions = suggest(name, SPECS.iter().map(|spec| spec.name));
            return Err(ParamError::UnknownWorkload { name: name.to_owned(), suggestions });
        };
        let made = Made::parse(spec, &Settings::new(spec.name, spec.params, set)?)?;
        let workload = Self { spec, made };
        check_memory(spec.name, workload.memory_bytes())?;
        Ok(workload)
    }

    /// The name it was asked for by.
    pub fn name(&self) -> &'static str {
        self.spec.name
    }

    /// How the program makes its tasks.
    pub fn kind(&self) -> Kind {
        self.spec.kind()
    }

    /// Whether it is a worklist program whose tasks may be run twice.
    pub fn is_idempotent(&self) -> bool {
        on_made!(&self.made, params => params.is_idempotent())
    }

    /// All parameters with their values.
    pub fn params(&self) -> Vec<(&'static str, String)> {
        let values = on_made!(&self.made, params => params.values());
        self.spec.params.iter().map(|param| param.name).zip(values).collect()
    }

    /// The forks of one run, or of worklists and jobs the tasks, where that is known beforehand; see also [`Instance::tasks`].
    pub fn tasks(&self) -> Option<u64> {
        on_made!(&self.made, params => params.tasks())
    }

    /// Bytes of input and output together.
    pub fn memory_bytes(&self) -> u64 {
        on_made!(&self.made, params => params.memory_bytes())
    }

    /// Makes the input.
    pub fn prepare(&self) -> Result<Instance, ParamError> {
        self.made.prepare()
    }
}

impl Instance {
    /// The name of its workload.
    pub fn name(&self) -> &'static str {
        self.spec().name
    }

    /// How the program makes its tasks.
    pub fn kind(&self) -> Kind {
        self.spec().kind()
    }

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

    /// The forks of the fork–join run that gave `answer`, or of worklists and jobs the tasks, as far as they can be known.
    pub fn tasks(&self, answer: &Answer) -> Option<u64> {
        on_instance!(self, program => program.tasks(answer))
    }

    /// A hash of what the last run left in memory, in order: two runs with the same one agree bit for bit.
    ///
    /// A program leaves 0 if its answer says all, or if which of several right results it finds depends on the schedule.
    pub fn digest(&self) -> u64 {
        on_instance!(self, program => program.digest())
    }

    /// Changes one element, counted round and round, of what the last run left in memory: a test that
    /// [`check`](Self::check) notices. Says whether there is anything in memory.
    pub fn damage(&mut self, at: u64) -> bool {
        on_instance!(self, program => program.damage(at))
    }

    /// A generous estimate of the stack that a worker needs whose tasks nest as deeply as the sequential program.
    pub fn stack_bytes(&self) -> u64 {
        const BASE: u64 = 1 << 20;
        const LEVEL: u64 = 2 << 10;
        BASE + LEVEL * on_instance!(self, program => program.nesting())
    }
}
