//! What each queue answers, operation by operation, without interference.
//!
//! Promises leave room: how many polls an answer takes, how much is shared at a time, which thief gets a task granted
//! to another, what the length hint is. None of that is wrong in itself, but a mistake can make any of it useless. So
//! the folder `answers` stores what each queue answers, and a commit explains each change. `FILCH_BLESS=1` rewrites
//! them.
//!
//! **A stored line** is one queue's life. Its head is the capacity; then come the operations, each with its answer.
//! `+3`: task 3 was pushed; `+full`: there was no room. `-3`: task 3 was popped; `-none`: there was none. `.`: a poll.
//! `a3`: thief a stole task 3; `a:empty` and so on. `A3`: thief a settled its requests and got task 3; `A`: it got
//! none. `|2`: the length hint is 2, which is wrong. `?bc`: the work hints of thieves b and c are wrong.

use std::path::Path;

use filch_queue::{Owner, Progress, Queue, Steal, StealMany, Task, Thief};

use crate::{number, task};

macro_rules! tests {
    ($queue:ty) => {
        #[test]
        #[cfg_attr(miri, ignore = "opens files")]
        fn answers() {
            let name = module_path!().rsplit("::").next().expect("a module has a name");
            $crate::run::<$queue, filch_memory::Native>(|| $crate::answers::answers::<$queue>(name));
        }
    };
}
pub(crate) use tests;

/// As in a stored line, without the answers; the part in parentheses is repeated three times.
const LIVES: &[&str] = &[
    // The owner alone.
    "++++++------ +-+-- ++-+--",
    // One thief, and what it leaves.
    "+++++a.a.a.a.a.a.a.---",
    "++++aaaa.b.aA---- a.+a.-",
    // An owner that pops, and shares what is left.
    "+++++aaaaa-aa-aa-- +aa.+a- +aa-+++abc---",
    // All thieves in turn, and all at once.
    "++++++a.b.c.a.b.c.a.b.c.---",
    "+++++abc.abc.abc..abc----ABC-",
    // A request that the owner overtakes, or that outlives all tasks.
    "(+a-a.A+a.b-)ab.AB-",
    "(++a--.a.A)++a.a.-- ab+.a.b.-A-B",
    // A granted task goes to another thief, or to the same thief that asks again, or back to the owner.
    "+++++a.b.ba.a.a.---ABC-",
    "+++a.bbbc.a.---ABC-",
    "++a.b.---ABC-",
    // Many laps.
    "(+-+a.+-+b.c.)(+++--a.a)---- +a.-",
    "(++.a+a.-b.+.-c+-)-----ABC----",
];

/// The number of thieves in each life.
const THIEVES: usize = 3;

pub(crate) fn answers<Q: Queue>(name: &str) {
    // What depends on time differs between runs.
    if Q::PROMISES.answers_by_clock {
        return;
    }
    let lives = |capacity| LIVES.iter().map(move |life| live::<Q>(capacity, &unfold(life)));
    is_as_stored(name, &[1, 2, 5].into_iter().flat_map(lives).collect::<String>());
}

/// Writes out the repetitions.
fn unfold(life: &str) -> String {
    let mut all = String::new();
    for part in life.split(')') {
        let (once, thrice) = part.split_once('(').unwrap_or((part, ""));
        all.extend([once, thrice, thrice, thrice]);
    }
    all.retain(|act| act != ' ');
    all
}

fn live<Q: Queue>(capacity: usize, life: &str) -> String {
    let (mut owner, mut thieves) = Q::make(capacity, THIEVES, &Q::Params::default());
    let mut line = format!("c{capacity}");
    let (mut pushed, mut inside, mut rests) = (0, 0, false);
    for act in life.chars() {
        rests = if "+-.".contains(act) { act == '.' } else { rests };
        let told = match act {
            '+' => {
                let answer = owner.push(task(pushed));
                pushed += 1;
                inside += usize::from(answer.is_ok());
                if answer.is_ok() { format!("+{pushed}") } else { "+full".into() }
            }
            '-' => {
                let popped = owner.pop();
                inside -= usize::from(popped.is_some());
                popped.map_or("-none".into(), |task| format!("-{}", number(task) + 1))
            }
            '.' => {
                owner.poll();
                ".".into()
            }
            'a'..='c' if Q::PROMISES.steal_progress == Progress::WaitsForOwner && inside > 0 && !rests => continue,
            'a'..='c' => {
                let stolen = thieves[act as usize - 'a' as usize].steal();
                inside -= usize::from(stolen.is_task());
                format!("{act}{}", said(stolen.map(|task| number(task) + 1)))
            }
            'A'..='C' => {
                crate::answers_waiting::<Q, _>(&mut owner);
                let task = thieves[act as usize - 'A' as usize].quiesce();
                inside -= usize::from(task.is_some());
                format!("{act}{}", task.map_or(String::new(), |task| (number(task) + 1).to_string()))
            }
            _ => panic!("an act is one of +-.abcABC"),
        };
        let (length, is_there) = (owner.len_hint(), inside > 0);
        let mislead = ('a'..).zip(&thieves).filter(|(_, thief)| thief.has_work_hint() != is_there);
        let mislead: String = mislead.map(|(letter, _)| letter).collect();
        line += &format!(" {told}");
        line += &if length == inside { String::new() } else { format!("|{length}") };
        line += &if mislead.is_empty() { mislead } else { format!("?{mislead}") };
    }
    line + "\n"
}

fn said(answer: Steal<usize>) -> String {
    match answer {
        Steal::Task(number) => number.to_string(),
        other => format!(":{other:?}").to_lowercase(),
    }
}

/// Like [`answers`], for thieves that ask for several tasks at once: `a2:1,2` is thief a, which asked for two and got
/// tasks 1 and 2.
pub(crate) fn answers_to_many<Q: Queue<Thief: StealMany<Task>>>(name: &str) {
    if Q::PROMISES.answers_by_clock {
        return;
    }
    let mut lines = String::new();
    for capacity in [2, 7] {
        for asked in [&[1, 2, 3][..], &[2, 0, 9, 9], &[9, 1, 1, 9, 9, 9]] {
            let (mut owner, mut thieves) = Q::make(capacity, 2, &Q::Params::default());
            let mut line = format!("c{capacity}");
            for n in 0..capacity {
                owner.push(task(n)).expect("there is room");
            }
            for (round, &most) in asked.iter().chain(asked).enumerate() {
                let mut loot = Vec::new();
                let answer = thieves[round % 2].steal_many(most, &mut loot);
                let loot: Vec<_> = loot.into_iter().map(|task| (number(task) + 1).to_string()).collect();
                let told = if answer.is_task() { format!(":{}", loot.join(",")) } else { said(answer) };
                line += &format!(" {}{most}{told}", ['a', 'b'][round % 2]);
                owner.poll();
            }
            line.extend(core::iter::from_fn(|| owner.pop()).map(|task| format!(" -{}", number(task) + 1)));
            for (letter, thief) in ['A', 'B'].into_iter().zip(&mut thieves) {
                let settled = core::iter::from_fn(|| thief.quiesce());
                line.extend(settled.map(|task| format!(" {letter}{}", number(task) + 1)));
            }
            lines += &(line + "\n");
        }
    }
    is_as_stored(&format!("{name}-many"), &lines);
}

fn is_as_stored(name: &str, found: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/queues/answers").join(format!("{name}.txt"));
    if std::env::var_os("FILCH_BLESS").is_some_and(|value| value == "1") {
        return std::fs::write(&file, found).expect("the folder is there");
    }
    let stored = std::fs::read_to_string(&file).unwrap_or_else(|error| {
        panic!("{}: {error}; FILCH_BLESS=1 writes it", file.display());
    });
    for (stored, found) in stored.lines().zip(found.lines()) {
        assert_eq!(stored, found, "{} differs: see the head of answers.rs", file.display());
    }
    assert_eq!(stored.lines().count(), found.lines().count(), "{} has a different number of lines", file.display());
}
