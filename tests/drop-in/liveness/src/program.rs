//! Programs as data, and their notation.
//!
//! A program is a line: `threads 2 global chan 1 : spawn { recv a*2000 } iter*2000 { send a }`. The head says how many
//! threads the pool has, whether it is the global one, how many the second pool has (`second 3`), and lists channels
//! by their capacities, barriers by their sizes and latches by their counts; the steps name them `a`, `b`, …. The first
//! steps run on a thread outside all pools. The program has ended when these and all spawned jobs have.

use std::fmt::{self, Display, Formatter};
use std::str::{FromStr, SplitWhitespace};

/// What a step is called, what resource it names, whether it has a count, and how many bodies.
macro_rules! ops {
    ($($(#[$doc:meta])* $op:ident $name:literal $resource:ident $has_count:literal $bodies:literal;)*) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Op { $($(#[$doc])* $op),* }

        impl Op {
            pub const ALL: &[Op] = &[$(Op::$op),*];

            pub fn name(self) -> &'static str {
                match self { $(Op::$op => $name),* }
            }

            pub fn resource(self) -> Resource {
                match self { $(Op::$op => Resource::$resource),* }
            }

            pub fn has_count(self) -> bool {
                match self { $(Op::$op => $has_count),* }
            }

            pub fn bodies(self) -> usize {
                match self { $(Op::$op => $bodies),* }
            }
        }
    };
}

ops! {
    /// A place that the generator fills. Does nothing.
    Slot "slot" None true 0;
    /// Sends that often.
    Send "send" Channel true 0;
    /// Receives that often.
    Recv "recv" Channel true 0;
    /// Waits at a barrier.
    Meet "meet" Barrier false 0;
    /// Counts a latch down by one.
    Down "down" Latch false 0;
    /// Waits until a latch has been counted down.
    Await "await" Latch false 0;
    /// The same, calling `yield_now` meanwhile.
    Poll "poll" Latch false 0;
    /// Waits, on a condition variable, until that many others have taken their turn; then takes its own.
    Turn "turn" Order true 0;
    /// Runs its body with a mutex locked.
    Hold "hold" Lock false 1;
    /// Calls `yield_now` once.
    Yield "yield" None false 0;
    /// Sleeps for some tenths of a millisecond.
    Nap "nap" None false 0;
    /// Runs its body that often, in a sequential loop.
    Times "times" None true 1;
    Spawn "spawn" None false 1;
    SpawnFifo "fifo" None false 1;
    Scope "scope" None false 1;
    ScopeFifo "scopefifo" None false 1;
    InPlace "inplace" None false 1;
    InPlaceFifo "inplacefifo" None false 1;
    /// Spawns in the innermost scope.
    Child "child" None false 1;
    Join "join" None false 2;
    /// A parallel loop.
    Iter "iter" None true 1;
    /// A parallel loop with `with_max_len(1)`.
    Each "each" None true 1;
    /// The same by `par_bridge`.
    Bridge "bridge" None true 1;
    /// `par_bridge` over what is received from a channel.
    Pull "pull" Channel true 1;
    Broadcast "broadcast" None false 1;
    SpawnBroadcast "spawncast" None false 1;
    /// `install` in the pool.
    Install "install" None false 1;
    /// `install` in the second pool.
    Other "other" None false 1;
}

impl Op {
    pub fn is_scope(self) -> bool {
        matches!(self, Op::Scope | Op::ScopeFifo | Op::InPlace | Op::InPlaceFifo)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resource {
    None,
    Channel,
    Barrier,
    Latch,
    Order,
    Lock,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    pub op: Op,
    /// The resource's index, if the step names one.
    pub on: usize,
    pub count: usize,
    pub bodies: Vec<Body>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Body {
    /// The body's index in the order of the text.
    pub number: usize,
    pub steps: Vec<Step>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Program {
    pub threads: usize,
    pub is_global: bool,
    pub second: usize,
    pub channels: Vec<usize>,
    pub barriers: Vec<usize>,
    pub latches: Vec<usize>,
    pub main: Body,
}

/// Where a step runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    Outside,
    Pool,
    Second,
}

impl Place {
    /// Where parallel work runs that is called here.
    pub fn inside(self) -> Place {
        if self == Place::Second { self } else { Place::Pool }
    }
}

/// How a walk has come to a body: from the outermost, the number of each step in its body, what the step is, and the
/// number of the next body in it.
pub type Path = Vec<(usize, Op, usize)>;

impl Program {
    /// The program after a rest, in which the threads of its pool fall asleep.
    pub fn rested(&self) -> Program {
        let nap = Step { op: Op::Nap, on: 0, count: 1, bodies: Vec::new() };
        let mut rested = self.clone();
        rested.main.steps.splice(..0, vec![nap; 3]);
        rested
    }

    /// Numbers the bodies.
    pub fn number(&mut self) {
        fn number(body: &mut Body, next: &mut usize) {
            body.number = *next;
            *next += 1;
            body.steps.iter_mut().flat_map(|step| &mut step.bodies).for_each(|body| number(body, next));
        }
        number(&mut self.main, &mut 0);
    }

    /// Where the bodies of a step run that is executed at `place`, in a scope of the pool `scope`.
    pub fn place_of_bodies(&self, op: Op, place: Place, scope: Place) -> Place {
        match op {
            Op::Hold | Op::Times | Op::InPlace | Op::InPlaceFifo => place,
            Op::Child => scope,
            // Nothing installs in the global pool from a thread of another.
            Op::Install if self.is_global => place.inside(),
            Op::Install => Place::Pool,
            Op::Other => Place::Second,
            _ => place.inside(),
        }
    }

    /// Calls `see` with each body, in the order of their numbers, how often it is to run, and its path.
    pub fn walk<'a>(&'a self, mut see: impl FnMut(&'a Body, usize, &Path)) {
        self.walk_body(&self.main, 1, (Place::Outside, Place::Pool), &mut Vec::new(), &mut see);
    }

    fn walk_body<'a>(
        &'a self,
        body: &'a Body,
        times: usize,
        (place, scope): (Place, Place),
        path: &mut Path,
        see: &mut dyn FnMut(&'a Body, usize, &Path),
    ) {
        see(body, times, path);
        for (index, step) in body.steps.iter().enumerate() {
            let inside = self.place_of_bodies(step.op, place, scope);
            let factor = match step.op {
                Op::Broadcast | Op::SpawnBroadcast if inside == Place::Second => self.second,
                Op::Broadcast | Op::SpawnBroadcast => self.threads,
                Op::Times | Op::Iter | Op::Each | Op::Bridge | Op::Pull => step.count,
                _ => 1,
            };
            let scope = if step.op.is_scope() { place.inside() } else { scope };
            for (number, body) in step.bodies.iter().enumerate() {
                path.push((index, step.op, number));
                self.walk_body(body, times * factor, (inside, scope), path, see);
                path.pop();
            }
        }
    }

    /// How often each body is to run, by its number.
    pub fn expected(&self) -> Vec<usize> {
        let mut expected = Vec::new();
        self.walk(|_, times, _| expected.push(times));
        expected
    }

    /// How many of a resource the program names.
    pub fn used(&self, resource: Resource) -> usize {
        let mut used = 0;
        self.walk(|body, _, _| {
            let of_kind = body.steps.iter().filter(|step| step.op.resource() == resource);
            used = of_kind.map(|step| step.on + 1).fold(used, usize::max);
        });
        used
    }
}

impl Display for Body {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.steps.iter().try_for_each(|step| write!(f, " {step}"))
    }
}

impl Display for Step {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(self.op.name())?;
        if self.op.resource() != Resource::None {
            write!(f, " {}", char::from(b'a' + self.on as u8))?;
        }
        if self.op.has_count() && self.count != 1 {
            write!(f, "*{}", self.count)?;
        }
        self.bodies.iter().try_for_each(|body| write!(f, " {{{body} }}"))
    }
}

impl Display for Program {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "threads {}", self.threads)?;
        if self.is_global {
            f.write_str(" global")?;
        }
        if self.second != 0 {
            write!(f, " second {}", self.second)?;
        }
        for (name, list) in [("chan", &self.channels), ("barrier", &self.barriers), ("latch", &self.latches)] {
            if !list.is_empty() {
                write!(f, " {name}")?;
                list.iter().try_for_each(|number| write!(f, " {number}"))?;
            }
        }
        write!(f, " :{}", self.main)
    }
}

impl FromStr for Program {
    type Err = String;

    fn from_str(text: &str) -> Result<Program, String> {
        let (head, steps) = text.split_once(':').ok_or("there is no colon")?;
        let mut program = Program {
            threads: 0,
            is_global: false,
            second: 0,
            channels: Vec::new(),
            barriers: Vec::new(),
            latches: Vec::new(),
            main: Body::default(),
        };
        let mut words = head.split_whitespace().peekable();
        while let Some(word) = words.next() {
            let mut numbers = Vec::new();
            while let Some(number) = words.peek().and_then(|word| word.parse::<usize>().ok()) {
                numbers.push(number);
                words.next();
            }
            match (word, &numbers[..]) {
                ("threads", &[threads]) => program.threads = threads,
                ("global", []) => program.is_global = true,
                ("second", &[threads]) => program.second = threads,
                ("chan", _) => program.channels = numbers,
                ("barrier", _) => program.barriers = numbers,
                ("latch", _) => program.latches = numbers,
                _ => return Err(format!("bad `{word}` in the head")),
            }
        }
        let mut words = steps.split_whitespace();
        program.main = parse_body(&mut words, true)?;
        program.number();
        let is_declared = |resource, declared: &[usize]| program.used(resource) <= declared.len();
        if program.threads == 0
            || !is_declared(Resource::Channel, &program.channels)
            || !is_declared(Resource::Barrier, &program.barriers)
            || !is_declared(Resource::Latch, &program.latches)
        {
            return Err("the head lacks threads, or a resource that a step names".into());
        }
        Ok(program)
    }
}

fn parse_body(words: &mut SplitWhitespace<'_>, is_main: bool) -> Result<Body, String> {
    let mut body = Body::default();
    loop {
        match words.next() {
            None if is_main => return Ok(body),
            Some("}") if !is_main => return Ok(body),
            Some(word) => body.steps.push(parse_step(word, words)?),
            None => return Err("a body does not end".into()),
        }
    }
}

fn parse_step(word: &str, words: &mut SplitWhitespace<'_>) -> Result<Step, String> {
    let name = word.split('*').next().unwrap_or(word);
    let op = *Op::ALL.iter().find(|op| op.name() == name).ok_or_else(|| format!("there is no step `{name}`"))?;
    let mut step = Step { op, on: 0, count: 1, bodies: Vec::new() };
    let mut last = word;
    if op.resource() != Resource::None {
        last = words.next().ok_or_else(|| format!("`{name}` of what?"))?;
        let letter = last.bytes().next().filter(u8::is_ascii_lowercase).ok_or_else(|| format!("`{name} {last}`?"))?;
        step.on = usize::from(letter - b'a');
    }
    if let Some((_, count)) = last.split_once('*') {
        step.count = count.parse().ok().filter(|_| op.has_count()).ok_or_else(|| format!("a bad count: `{last}`"))?;
    }
    for _ in 0..op.bodies() {
        if words.next() != Some("{") {
            return Err(format!("`{name}` lacks a body"));
        }
        step.bodies.push(parse_body(words, false)?);
    }
    Ok(step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_are_counted_by_loops_and_pools() {
        let program =
            "threads 3 second 2 : times*4 { scope { broadcast { } other { broadcast { child { } } } } } yield";
        let program: Program = program.parse().expect("a program");
        assert_eq!(program.expected(), [1, 4, 4, 12, 4, 8, 8]);
        // What is spawned in a scope goes to its pool.
        let program = "threads 3 second 2 : scope { other { child { broadcast { } } } }".parse::<Program>();
        assert_eq!(program.expect("a program").expected(), [1, 1, 1, 1, 3]);
    }

    #[test]
    fn mistakes_are_refused() {
        for text in [
            "threads 2",
            " : yield",
            "threads 2 : nothing",
            "threads 2 : send a",
            "threads 2 chan 1 : send",
            "threads 2 latch 1 : down a*2",
            "threads 2 : join { }",
            "threads 2 : spawn { yield",
            "threads 2 : yield }",
            "threads 2 tasks 3 : yield",
        ] {
            assert!(text.parse::<Program>().is_err(), "{text}");
        }
    }
}
