//! Any program by name, with its data, from the [list](filch_catalogue::for_each_program) of all programs.

use std::time::Duration;

use filch::worklist::Queue;
use filch::{jobs, worklist};
use filch_catalogue::programs::{self, Chosen, Params};
use filch_catalogue::{Kind, ParamError, Spec, Workload, for_each_program};

use crate::answer::{Answer, Listed};
use crate::queue::{Enter, On, Used};
use crate::spec::{Calls, Forks, Lists, Makes, Prepare, Runs, Uses};
use crate::{ForkJoin, Program};

macro_rules! instances {
    (
        fork_join { $($forks:ident($forks_module:ident::$forks_params:ident),)* }
        worklist { $($lists:ident($lists_module:ident::$lists_params:ident),)* }
        jobs { $($makes:ident($makes_module:ident::$makes_params:ident),)* }
        queue { $($uses:ident($uses_module:ident::$uses_params:ident),)* }
    ) => {
        instances! {
            all
            $($forks($forks_module::$forks_params),)*
            $($lists($lists_module::$lists_params),)*
            $($makes($makes_module::$makes_params),)*
            $($uses($uses_module::$uses_params),)*
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
            /// use filch_workloads::{Prepare, Workload};
            ///
            /// let mut closure = Workload::new("closure", &[("n".into(), "1000".into())])?.prepare()?;
            /// closure.reset();
            /// let run = closure.list_exactly_once(&mut Worklist::new(2).start()?);
            /// assert!(closure.check(&run.answer).is_ok());
            /// # Ok::<(), Box<dyn std::error::Error>>(())
            /// ```
            ///
            /// # Panics
            /// If it is not a worklist program: see [`Instance::kind`]; or if it [would be
            /// wrong](Self::why_not_listed).
            pub fn list_exactly_once<Q: Queue>(&mut self, team: &mut worklist::Team<Q>) -> Listed {
                self.check_list::<Q>(team.workers());
                match self {
                    $(Self::$lists(program) => program.exactly_once(team),)*
                    other => panic!("{} is not a worklist program", other.name()),
                }
            }

            /// Runs a worklist program whose tasks may run twice, also on queues that may return a task twice. Returns
            /// `None` for other programs.
            ///
            /// # Panics
            /// If it [would be wrong](Self::why_not_listed).
            pub fn list_at_least_once<Q: Queue>(&mut self, team: &mut worklist::Team<Q>) -> Option<Listed> {
                self.check_list::<Q>(team.workers());
                match self {
                    $(Self::$lists(program) => program.at_least_once(team),)*
                    _ => None,
                }
            }

            /// Why this worklist program, with its parameters, would be wrong on such queues: a sentence, if it would
            /// be.
            ///
            /// ```
            /// use filch_queue::{ChaseLev, Lace};
            /// use filch_workloads::{Prepare, Workload};
            ///
            /// let tree = Workload::new("spanning-tree", &[("adopt".into(), "store".into())])?.prepare()?;
            /// assert_eq!(tree.why_not_listed::<ChaseLev>(2).is_none(), cfg!(target_arch = "x86_64"));
            /// assert!(tree.why_not_listed::<Lace>(2).is_some_and(|why| why.contains("lace")));
            /// assert!(tree.why_not_listed::<Lace>(1).is_none());
            /// # Ok::<(), Box<dyn std::error::Error>>(())
            /// ```
            pub fn why_not_listed<Q: Queue>(&self, workers: usize) -> Option<String> {
                match self {
                    $(Self::$lists(program) => program.refuses::<Q>(workers),)*
                    _ => None,
                }
            }

            fn check_list<Q: Queue>(&self, workers: usize) {
                if let Some(why) = self.why_not_listed::<Q>(workers) {
                    panic!("{}: {why}", self.name());
                }
            }

            /// Runs a job program.
            ///
            /// ```
            /// use filch::jobs::Jobs;
            /// use filch_workloads::{Prepare, Workload};
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

            /// Runs a queue program. Each thread calls `enter` before the clock starts.
            ///
            /// ```
            /// use filch_queue::ChaseLev;
            /// use filch_workloads::queue::On;
            /// use filch_workloads::{Prepare, Workload};
            ///
            /// let mut owner = Workload::new("owner-throughput", &[("n".into(), "1000".into())])?.prepare()?;
            /// let run = owner.run_on_queue(&On::<ChaseLev> { params: &(), capacity: 64, workers: 2 }, &|_| Ok(()))?;
            /// assert!(owner.check(&run.answer).is_ok());
            /// # Ok::<(), Box<dyn std::error::Error>>(())
            /// ```
            ///
            /// # Errors
            /// A sentence, if the program needs more workers or a thread cannot start.
            ///
            /// # Panics
            /// If it is not a queue program: see [`Instance::kind`].
            pub fn run_on_queue<Q: Queue>(&mut self, on: &On<'_, Q>, enter: Enter<'_>) -> Result<Used, String> {
                match self {
                    $(Self::$uses(program) => program.on_queue(on, enter),)*
                    other => panic!("{} is not a queue program", other.name()),
                }
            }
        }
    };
    (all $($variant:ident($module:ident::$params:ident),)*) => {
        /// A program with its input and room for its output. It can run any number of times.
        ///
        /// Call [`reset`](Self::reset) before every run and [`check`](Self::check) after it: some answers are in the
        /// instance's own memory.
        #[derive(Debug)]
        #[non_exhaustive]
        pub enum Instance {
            $(
                #[doc = concat!("See [`", stringify!($module), "`](crate::", stringify!($module), ").")]
                $variant(<programs::$module::$params as Prepare>::Instance)
            ),*
        }

        impl Prepare for Workload {
            type Instance = Instance;

            fn prepare(&self) -> Result<Instance, ParamError> {
                match self.chosen() {
                    $(Chosen::$variant(params) => params.prepare().map(Instance::$variant)),*
                }
            }
        }

        impl Instance {
            fn spec(&self) -> &'static Spec {
                match self {
                    $(Self::$variant(_) => const { &<programs::$module::$params as Params>::SPEC }),*
                }
            }
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

for_each_program!(instances);

impl Instance {
    /// The name of its workload.
    pub fn name(&self) -> &'static str {
        self.spec().name
    }

    /// How the program makes its tasks.
    pub fn kind(&self) -> Kind {
        self.spec().kind()
    }

    /// Restores the input and spoils the last output. Call it before every run, untimed.
    pub fn reset(&mut self) {
        on_instance!(self, program => program.reset());
    }

    /// Runs the plain sequential version, or one of its [calls](Self::in_calls).
    pub fn serial(&mut self) -> Answer {
        on_instance!(self, program => program.serial())
    }

    /// Runs a program by `call`, from outside the scheduler, as often as one run of the program has calls: once, except
    /// for `loops`. Pauses before each of several calls. Returns the last answer.
    ///
    /// ```
    /// use filch_workloads::{Prepare, Program, Serial, Workload};
    ///
    /// let mut fib = Workload::new("fib", &[("n".into(), "20".into())])?.prepare()?;
    /// assert_eq!(fib.in_calls(|fib| fib.run(Serial)).to_string(), "6765");
    /// # Ok::<(), filch_workloads::ParamError>(())
    /// ```
    pub fn in_calls(&mut self, mut call: impl FnMut(&mut Self) -> Answer) -> Answer {
        let mut left = self.calls().map_or(1, |calls| calls.times);
        loop {
            if let Some(calls) = self.calls() {
                calls.pause();
            }
            let answer = call(self);
            left -= 1;
            if left == 0 {
                return answer;
            }
        }
    }

    fn calls(&mut self) -> Option<&mut Calls> {
        on_instance!(self, program => program.calls())
    }

    /// How long it has paused between its calls since the last reset.
    pub fn paused(&mut self) -> Duration {
        self.calls().map_or(Duration::ZERO, |calls| calls.paused)
    }

    /// Checks `answer` and what the last run left in memory.
    pub fn check(&self, answer: &Answer) -> Result<(), String> {
        on_instance!(self, program => program.check(answer))
    }

    /// Returns the number of forks in the fork–join run that gave `answer`, or of tasks for worklists and jobs, if
    /// known.
    pub fn tasks(&self, answer: &Answer) -> Option<u64> {
        on_instance!(self, program => program.tasks(answer))
    }

    /// Hashes what the last run left in memory, in order. Two runs with equal hashes agree bit for bit.
    ///
    /// The hash is 0 if the answer says everything, or if the schedule decides which of several right results is found.
    pub fn digest(&self) -> u64 {
        on_instance!(self, program => program.digest())
    }

    /// Changes one element of what the last run left in memory, to test that [`check`](Self::check) detects it. The
    /// index wraps around. Returns whether there is anything in memory.
    pub fn damage(&mut self, at: u64) -> bool {
        on_instance!(self, program => program.damage(at))
    }

    /// Estimates, generously, the stack for a worker whose tasks nest as deeply as the sequential program.
    pub fn stack_bytes(&self) -> u64 {
        const BASE: u64 = 1 << 20;
        const LEVEL: u64 = 2 << 10;
        BASE + LEVEL * on_instance!(self, program => program.nesting())
    }
}
