//! Random programs whose tasks wait for one another.
//!
//! First a tree of steps grows, with slots as leaves and, here and there, a few steps that are known to need one
//! another. Then slots are linked: some send what others receive, count down what others wait for, meet at a barrier or
//! take turns. No link lets a task wait for what begins after it. Whether the program ends is for rayon to say.

use crate::program::{Body, Op, Path, Program, Step};

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    fn within(&mut self, least: usize, greatest: usize) -> usize {
        least + self.below(greatest - least + 1)
    }

    fn percent(&mut self, chance: usize) -> bool {
        self.below(100) < chance
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }
}

fn step(op: Op, on: usize, count: usize, bodies: Vec<Vec<Step>>) -> Step {
    let bodies = bodies.into_iter().map(|steps| Body { number: 0, steps }).collect();
    Step { op, on, count, bodies }
}

/// What is above a body that grows.
#[derive(Clone, Copy)]
struct Above {
    depth: usize,
    /// How often the body runs.
    times: usize,
    is_outside: bool,
    is_in_scope: bool,
    is_second: bool,
}

struct Grower {
    random: Random,
    program: Program,
    slots: usize,
    /// How many steps may still be made.
    left: usize,
    orders: usize,
    locks: usize,
}

/// The program of a seed for that many threads.
pub fn generate(seed: u64, threads: usize) -> Program {
    let mut random = Random(seed.wrapping_mul(0x2545_f491_4f6c_dd1d) ^ threads as u64);
    let program = Program {
        threads,
        is_global: random.percent(20),
        second: if random.percent(15) { random.within(1, 3) } else { 0 },
        channels: Vec::new(),
        barriers: Vec::new(),
        latches: Vec::new(),
        main: Body::default(),
    };
    let left = random.within(4, 24);
    let mut grower = Grower { random, program, slots: 0, left, orders: 0, locks: 0 };
    let above = Above { depth: 0, times: 1, is_outside: true, is_in_scope: false, is_second: false };
    grower.program.main.steps = if grower.random.percent(50) {
        let steps = grower.body(Above { depth: 1, is_outside: false, ..above });
        vec![step(grower.random.of(&[Op::Install, Op::Install, Op::Scope]), 0, 1, vec![steps])]
    } else {
        grower.body(above)
    };
    for _ in 0..grower.random.within(1, 4) {
        grower.link();
    }
    let mut program = grower.program;
    clean(&mut program.main);
    program.number();
    program
}

/// Takes out what does nothing.
fn clean(body: &mut Body) {
    body.steps.iter_mut().flat_map(|step| &mut step.bodies).for_each(clean);
    body.steps.retain(|step| {
        let is_empty = step.bodies.iter().all(|body| body.steps.is_empty());
        step.op != Op::Slot && !(is_empty && matches!(step.op, Op::Times | Op::Hold | Op::Install | Op::Other))
    });
}

impl Grower {
    fn body(&mut self, above: Above) -> Vec<Step> {
        let mut steps = Vec::new();
        for _ in 0..self.random.within(1, 4) {
            if self.left == 0 {
                break;
            }
            self.left -= 1;
            match self.random.below(100) {
                0..30 if above.depth < 5 => self.fork(above, &mut steps),
                30..55 if above.times == 1 => self.motif(above, &mut steps),
                55..58 => steps.push(step(Op::Nap, 0, 1, vec![])),
                58..60 => steps.push(step(Op::Yield, 0, 1, vec![])),
                60..75 if above.depth < 5 => {
                    let body = self.body(Above { depth: above.depth + 1, is_outside: false, ..above });
                    let detached = self.detached(above);
                    steps.push(step(detached, 0, 1, vec![body]));
                }
                _ => steps.push(self.slot()),
            }
        }
        steps
    }

    fn slot(&mut self) -> Step {
        self.slots += 1;
        step(Op::Slot, 0, self.slots, vec![])
    }

    /// A step that spawns.
    fn detached(&mut self, above: Above) -> Op {
        match self.random.below(10) {
            0..5 if above.is_in_scope => Op::Child,
            0..7 => Op::Spawn,
            _ => Op::SpawnFifo,
        }
    }

    /// A step with bodies.
    fn fork(&mut self, above: Above, steps: &mut Vec<Step>) {
        let op = self.random.of(&[
            Op::Join,
            Op::Join,
            Op::Join,
            Op::Scope,
            Op::Scope,
            Op::ScopeFifo,
            Op::InPlace,
            Op::InPlaceFifo,
            Op::Iter,
            Op::Each,
            Op::Bridge,
            Op::Times,
            Op::Times,
            Op::Broadcast,
            Op::SpawnBroadcast,
            Op::Install,
            Op::Other,
            Op::Hold,
        ]);
        let op = if op == Op::Other && self.program.second == 0 { Op::Join } else { op };
        let count = match op {
            Op::Iter | Op::Each | Op::Bridge => self.random.within(2, 8),
            Op::Times => self.random.within(2, 4),
            _ => 1,
        };
        let times = match op {
            Op::Broadcast | Op::SpawnBroadcast if above.is_second => self.program.second,
            Op::Broadcast | Op::SpawnBroadcast => self.program.threads,
            _ => count,
        };
        if above.times * times > 48 {
            return steps.push(self.slot());
        }
        let keeps_place = matches!(op, Op::Times | Op::Hold | Op::InPlace | Op::InPlaceFifo);
        let inside = Above {
            depth: above.depth + 1,
            times: above.times * times,
            is_outside: above.is_outside && keeps_place,
            is_in_scope: op.is_scope() || above.is_in_scope && op != Op::SpawnBroadcast,
            is_second: op == Op::Other || above.is_second && op != Op::Install,
        };
        let bodies = (0..op.bodies()).map(|_| self.body(inside)).collect();
        let lock = if op == Op::Hold { self.random.below(2) } else { 0 };
        self.locks = self.locks.max(lock);
        steps.push(step(op, lock, count, bodies));
    }

    fn channel(&mut self) -> usize {
        let capacity = self.random.of(&[0, 1, 1, 1, 1, 2, 4]);
        self.program.channels.push(capacity);
        self.program.channels.len() - 1
    }

    fn latch(&mut self, count: usize) -> usize {
        self.program.latches.push(count);
        self.program.latches.len() - 1
    }

    fn wait(&mut self, latch: usize) -> Step {
        let op = self.random.of(&[Op::Await, Op::Await, Op::Await, Op::Poll]);
        step(op, latch, 1, vec![])
    }

    /// Sends or receives `count` times, perhaps in a loop.
    fn transfer(&mut self, op: Op, channel: usize, count: usize) -> Step {
        match self.random.below(10) {
            0..5 => step(op, channel, count, vec![]),
            5 if op == Op::Recv => step(Op::Pull, channel, count, vec![vec![]]),
            number => {
                let all = [Op::Times, Op::Iter, Op::Iter, Op::Each, Op::Bridge];
                step(all[number - 5], 0, count, vec![vec![step(op, channel, 1, vec![])]])
            }
        }
    }

    /// Steps that are known to need one another, in a body that runs once.
    fn motif(&mut self, above: Above, steps: &mut Vec<Step>) {
        let threads = if above.is_second { self.program.second } else { self.program.threads };
        let spawned = |grower: &mut Grower, steps| {
            let op = grower.detached(above);
            step(op, 0, 1, vec![steps])
        };
        match self.random.below(9) {
            // A consumer or a producer, and then a loop that feeds it or takes from it.
            0 | 1 => {
                let channel = self.channel();
                let count = self.random.of(&[1, 2, 3, 8, 20, 100, 500]);
                let ends = if self.random.percent(70) { [Op::Recv, Op::Send] } else { [Op::Send, Op::Recv] };
                let first = self.transfer(ends[0], channel, count);
                steps.push(spawned(self, vec![first]));
                let second = self.transfer(ends[1], channel, count);
                steps.push(second);
            }
            // A pipeline of spawned stages.
            2 => {
                let count = self.random.of(&[1, 3, 10, 50]);
                let first = self.channel();
                let mut from = first;
                for _ in 0..self.random.within(1, threads.clamp(1, 3)) {
                    let to = self.channel();
                    let transfer = vec![step(Op::Recv, from, 1, vec![]), step(Op::Send, to, 1, vec![])];
                    steps.push(spawned(self, vec![step(Op::Times, 0, count, vec![transfer])]));
                    from = to;
                }
                let feed = self.transfer(Op::Send, first, count);
                if self.random.percent(50) {
                    steps.push(spawned(self, vec![feed]));
                    let take = self.transfer(Op::Recv, from, count);
                    steps.push(take);
                } else {
                    let take = self.transfer(Op::Recv, from, count);
                    steps.push(step(Op::Join, 0, 1, vec![vec![feed], vec![take]]));
                }
            }
            // As many meet as there are threads, or fewer.
            3 => {
                let size = self.random.within(2, threads.max(2));
                let how = self.random.below(4);
                let size = if how == 0 { threads } else { size + usize::from(above.is_outside) };
                self.program.barriers.push(size);
                let meet = step(Op::Meet, self.program.barriers.len() - 1, 1, vec![]);
                match how {
                    0 => steps.push(step(Op::Broadcast, 0, 1, vec![vec![meet]])),
                    1 if !above.is_outside => steps.push(step(Op::Each, 0, size, vec![vec![meet]])),
                    _ => {
                        (1..size).for_each(|_| steps.push(spawned(self, vec![meet.clone()])));
                        steps.push(meet);
                    }
                }
            }
            // One branch spawns what the other waits for.
            4 => {
                let count = self.random.within(1, 3);
                let latch = self.latch(count);
                let down = step(Op::Down, latch, 1, vec![]);
                let mut branches: Vec<_> = [vec![], vec![self.wait(latch)]].into();
                for _ in 0..count {
                    branches[0].push(spawned(self, vec![down.clone()]));
                }
                if self.random.percent(30) {
                    branches.swap(0, 1);
                }
                steps.push(step(Op::Join, 0, 1, branches));
            }
            // A fork older than the job that waits for it.
            5 => {
                let latch = self.latch(1);
                let waiting = vec![self.wait(latch)];
                let mut branch = vec![spawned(self, waiting)];
                branch.extend((0..self.random.below(3)).map(|_| self.slot()));
                steps.push(step(Op::Join, 0, 1, vec![branch, vec![step(Op::Down, latch, 1, vec![])]]));
            }
            // Jobs that take turns, in their order or not.
            6 => {
                let order = self.orders;
                self.orders += 1;
                let last = self.random.within(1, threads + 1);
                let mut turns: Vec<_> = (0..=last).collect();
                if self.random.percent(30) {
                    (1..turns.len()).for_each(|index| turns.swap(index, self.random.below(index + 1)));
                }
                let op = self.detached(above);
                let turn = |number| step(op, 0, 1, vec![vec![step(Op::Turn, order, number, vec![])]]);
                steps.extend(turns.into_iter().map(turn));
            }
            // A loop of spawns, then one that feeds them.
            7 => {
                let (channel, count) = (self.channel(), self.random.within(2, 6));
                let body = spawned(self, vec![step(Op::Recv, channel, 1, vec![])]);
                steps.push(step(Op::Times, 0, count, vec![vec![body]]));
                let feed = self.transfer(Op::Send, channel, count);
                steps.push(feed);
            }
            // A job that waits for an older or a younger one.
            _ => {
                let latch = self.latch(1);
                let waiting = vec![self.wait(latch)];
                let (waiting, down) = (spawned(self, waiting), spawned(self, vec![step(Op::Down, latch, 1, vec![])]));
                let (older, younger) = if self.random.percent(50) { (waiting, down) } else { (down, waiting) };
                steps.push(older);
                steps.extend((0..self.random.below(2)).map(|_| self.slot()));
                steps.push(younger);
            }
        }
    }

    /// Links some slots.
    fn link(&mut self) {
        let mut free = self.free();
        for index in (1..free.len()).rev() {
            free.swap(index, self.random.below(index + 1));
        }
        if free.len() < 2 {
            return;
        }
        match self.random.below(10) {
            0..4 => {
                let [(from, sends, a), (to, receives, b)] = &free[..2] else { return };
                let all = sends / gcd(*sends, *receives) * receives * self.random.of(&[1, 1, 2, 5]);
                if is_before(a, b) || is_before(b, a) || all > 400 {
                    return;
                }
                let channel = self.channel();
                self.fill(*from, step(Op::Send, channel, all / sends, vec![]));
                let take = if self.random.percent(15) { Op::Pull } else { Op::Recv };
                self.fill(*to, step(take, channel, all / receives, vec![vec![]; take.bodies()]));
            }
            4..8 => {
                let downs = self.random.within(1, 2.min(free.len() - 1));
                let waits = self.random.within(1, 2.min(free.len() - downs));
                let (downs, rest) = free.split_at(downs);
                let waits = &rest[..waits];
                if waits.iter().any(|wait| downs.iter().any(|down| is_before(&wait.2, &down.2))) {
                    return;
                }
                let latch = self.latch(downs.iter().map(|(_, times, _)| times).sum());
                downs.iter().for_each(|(slot, _, _)| self.fill(*slot, step(Op::Down, latch, 1, vec![])));
                for (slot, _, _) in waits {
                    let wait = self.wait(latch);
                    self.fill(*slot, wait);
                }
            }
            8 => {
                let number = self.random.within(2, free.len().min(self.program.threads + 1));
                let met = &free[..number];
                let all: usize = met.iter().map(|(_, times, _)| times).sum();
                if all > self.program.threads + 1 || met.iter().any(|a| met.iter().any(|b| is_before(&a.2, &b.2))) {
                    return;
                }
                self.program.barriers.push(all);
                let barrier = self.program.barriers.len() - 1;
                met.iter().for_each(|(slot, _, _)| self.fill(*slot, step(Op::Meet, barrier, 1, vec![])));
            }
            _ => {
                free.retain(|(_, times, _)| *times == 1);
                free.truncate(self.random.within(2, 5));
                let is_in_order = |(index, a): (usize, &Free)| free[..index].iter().all(|b| !is_before(&a.2, &b.2));
                if free.len() < 2 || !free.iter().enumerate().all(is_in_order) {
                    return;
                }
                let order = self.orders;
                self.orders += 1;
                for (turn, (slot, _, _)) in free.iter().enumerate() {
                    self.fill(*slot, step(Op::Turn, order, turn, vec![]));
                }
            }
        }
    }

    /// The slots that nothing fills yet.
    fn free(&self) -> Vec<Free> {
        let mut free = Vec::new();
        self.program.walk(|body, times, path| {
            for (index, step) in body.steps.iter().enumerate().filter(|(_, step)| step.op == Op::Slot) {
                let mut path = path.clone();
                path.push((index, Op::Slot, 0));
                free.push((step.count, times, path));
            }
        });
        free
    }

    fn fill(&mut self, slot: usize, with: Step) {
        fn fill(body: &mut Body, slot: usize, with: &Step) {
            for step in &mut body.steps {
                if step.op == Op::Slot && step.count == slot {
                    *step = with.clone();
                }
                step.bodies.iter_mut().for_each(|body| fill(body, slot, with));
            }
        }
        fill(&mut self.program.main, slot, &with);
    }
}

/// A slot's number, how often it is executed, and where it is.
type Free = (usize, usize, Path);

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// The step at `b` begins only after that at `a` has ended.
fn is_before(a: &Path, b: &Path) -> bool {
    let Some(common) = a.iter().zip(b).position(|(a, b)| a != b) else { return false };
    if a[common].0 >= b[common].0 {
        return false;
    }
    // The step above both that is executed first waits for `a`, unless something in between is spawned.
    let mut is_awaited = true;
    for (_, op, _) in a[common..].iter().rev() {
        match op {
            Op::Spawn | Op::SpawnFifo | Op::SpawnBroadcast => return false,
            Op::Child => is_awaited = false,
            op if op.is_scope() => is_awaited = true,
            _ => {}
        }
    }
    is_awaited
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::Resource;

    fn programs() -> impl Iterator<Item = Program> {
        (0..4000).map(|seed| generate(seed, 1 + seed as usize % 8))
    }

    /// How much of what `op` does happens to each resource.
    fn done(program: &Program, op: Op) -> Vec<usize> {
        let mut done = vec![0; program.used(op.resource())];
        program.walk(|body, times, _| {
            for step in body.steps.iter().filter(|step| step.op == op) {
                done[step.on] += times * step.count;
            }
        });
        done
    }

    #[test]
    fn what_is_sent_is_received() {
        for program in programs() {
            let (mut taken, pulled) = (done(&program, Op::Recv), done(&program, Op::Pull));
            taken.resize(program.used(Resource::Channel), 0);
            pulled.iter().enumerate().for_each(|(channel, pulled)| taken[channel] += pulled);
            assert_eq!(done(&program, Op::Send), taken, "{program}");
        }
    }

    #[test]
    fn latches_are_counted_down_to_zero() {
        programs().for_each(|program| assert_eq!(done(&program, Op::Down), program.latches, "{program}"));
    }

    #[test]
    fn barriers_are_full() {
        programs().for_each(|program| assert_eq!(done(&program, Op::Meet), program.barriers, "{program}"));
    }

    #[test]
    fn all_kinds_of_steps_occur() {
        let text: String = programs().map(|program| program.to_string()).collect();
        for op in Op::ALL.iter().filter(|op| **op != Op::Slot) {
            assert!(text.split([' ', '*']).any(|word| word == op.name()), "{op:?}");
        }
    }

    #[test]
    fn the_notation_can_be_read_back() {
        programs().for_each(|program| assert_eq!(program.to_string().parse(), Ok(program)));
    }
}
