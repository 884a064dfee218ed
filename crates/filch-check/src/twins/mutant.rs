//! A mutant: a program with a mistake, the machine on which the checker finds it, and the harm.

use std::fmt::{self, Debug, Display, Formatter};
use std::sync::Arc;

use filch_queue::Queue;

use crate::Program;
pub(super) use crate::harm::Harm;
use crate::scenarios::queues::{self, Client};
use crate::sites::Slip;
use crate::tso::{Bounds, Processor, Tso};

/// A program that is wrong, and the same program without the mistake.
#[derive(Clone)]
pub struct Mutant {
    /// The algorithm.
    pub subject: &'static str,
    /// The mistake's name.
    pub mistake: String,
    /// How the mistake does harm.
    pub shows: &'static str,
    /// The client: what its threads do.
    pub client: String,
    /// The machine.
    pub processor: Processor,
    /// δ of the mutant and of the control, for fence-free queues.
    pub delta: Option<(i64, i64)>,
    /// The harm that the explorer finds.
    pub harm: Harm,
    /// The mistake, if it is made in the shipped source.
    pub slip: Option<Slip>,
    pub(super) program: Make,
    pub(super) control: Make,
}

pub(super) type Make = Arc<dyn Fn() -> Program + Send + Sync>;

impl Mutant {
    /// Returns its name: of its trace, and of its row in a table.
    pub fn name(&self) -> String {
        format!("{}-{}", self.subject, self.mistake)
    }

    /// Returns the name of its control, which mutants of one algorithm may share.
    pub fn control_name(&self) -> String {
        let of = if self.slip.is_some() { "shipped " } else { "" };
        let delta = self.delta.map_or_else(String::new, |(_, delta)| format!(" δ={delta}"));
        format!("{of}{} {}{delta} {}", self.subject, self.client, machine(self.processor))
    }

    /// Returns the program with the mistake.
    pub fn program(&self) -> Program {
        (self.program)()
    }

    /// Returns the program without it.
    pub fn control(&self) -> Program {
        (self.control)()
    }

    /// Returns bounds for all executions of the program with the mistake.
    pub fn mistaken_bounds(&self) -> Bounds {
        Bounds { slip: self.slip, ..self.bounds() }
    }

    /// Returns bounds for all executions on its machine.
    pub fn bounds(&self) -> Bounds {
        Bounds { processor: self.processor, ..Bounds::buffer(0) }
    }
}

fn machine(Processor { buffer, coalesces }: Processor) -> String {
    format!("S={buffer}{}", if coalesces { "+B" } else { "" })
}

impl Display for Mutant {
    /// Writes the head of its trace.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {}", self.name(), self.shows)?;
        writeln!(f, "client: {}", self.client)?;
        write!(f, "machine: {}", machine(self.processor))?;
        if let Some((delta, needed)) = self.delta {
            write!(f, ", δ={delta}")?;
            if needed != delta {
                write!(f, " where it needs {needed}")?;
            }
        }
        writeln!(f)
    }
}

impl Debug for Mutant {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        Display::fmt(self, f)
    }
}

/// A buffer of `S` entries.
pub(super) fn buffer(buffer: usize) -> Processor {
    Processor { buffer, coalesces: false }
}

/// A buffer of `S` entries, and the place beyond it where stores merge.
pub(super) fn merging(buffer: usize) -> Processor {
    Processor { buffer, coalesces: true }
}

/// A client of a queue with these parameters, and with those of the control.
pub(super) fn mutant<Q: Queue<Tso>>(
    mistake: &str,
    params: [Q::Params; 2],
    client: Client,
    processor: Processor,
    harm: Harm,
    shows: &'static str,
) -> Mutant {
    let told = client.to_string();
    let client = client.of_twin();
    let [program, control] = params.map(|params| {
        let client = client.clone();
        let make: Make = Arc::new(move || queues::program::<Tso, Q>(&client, &params));
        make
    });
    Mutant {
        subject: Q::PROMISES.name,
        mistake: mistake.to_owned(),
        shows,
        client: told,
        processor,
        delta: None,
        harm,
        slip: None,
        program,
        control,
    }
}

/// A twin that has nothing but its mistake for a parameter.
pub(super) fn mistaken<Q: Queue<Tso, Params: Default>>(
    name: &str,
    mistake: Q::Params,
    client: Client,
    processor: Processor,
    harm: Harm,
    shows: &'static str,
) -> Mutant {
    mutant::<Q>(name, [mistake, Q::Params::default()], client, processor, harm, shows)
}

/// Returns the harm if a slot that must hold a task is empty: a debug build of the shipped source asserts it, a release
/// build continues.
pub(super) fn no_task(otherwise: Harm) -> Harm {
    if cfg!(debug_assertions) { Harm::Panic } else { otherwise }
}

/// A client of a shipped queue, with its usual parameters and without store buffers, that runs with a mistake.
pub(super) fn slip<Q: Queue<Tso, Params: Default>>(
    name: &str,
    slip: Slip,
    client: Client,
    harm: Harm,
    shows: &'static str,
) -> Mutant {
    slipped::<Q>((name, slip), &Q::Params::default(), client, buffer(0), harm, shows)
}

/// A client of a shipped queue that runs with a mistake.
pub(super) fn slipped<Q: Queue<Tso>>(
    (name, slip): (&str, Slip),
    params: &Q::Params,
    client: Client,
    processor: Processor,
    harm: Harm,
    shows: &'static str,
) -> Mutant {
    let params = [params.clone(), params.clone()];
    Mutant { slip: Some(slip), ..mutant::<Q>(name, params, client, processor, harm, shows) }
}

/// A mistake in the shipped source of a protocol, on a buffer of one entry.
pub(super) fn slipped_protocol(
    subject: &'static str,
    (name, slip): (&str, Slip),
    client: impl Into<String>,
    harm: Harm,
    shows: &'static str,
    program: impl Fn() -> Program + Clone + Send + Sync + 'static,
) -> Mutant {
    Mutant { slip: Some(slip), ..protocol(subject, (name, ()), client, harm, shows, move |()| program()) }
}

/// A mistake in a protocol, by name, on a buffer of one entry.
pub(super) fn protocol<K: Copy + Default + Send + Sync + 'static>(
    subject: &'static str,
    (name, mistake): (&str, K),
    client: impl Into<String>,
    harm: Harm,
    shows: &'static str,
    program: impl Fn(K) -> Program + Clone + Send + Sync + 'static,
) -> Mutant {
    let make = |mistake| -> Make {
        let program = program.clone();
        Arc::new(move || program(mistake))
    };
    Mutant {
        subject,
        mistake: name.to_owned(),
        shows,
        client: client.into(),
        processor: buffer(1),
        delta: None,
        harm,
        slip: None,
        program: make(mistake),
        control: make(K::default()),
    }
}
