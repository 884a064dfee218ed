//! Makes a failing program smaller.

use crate::program::{Body, Op, Program, Resource, Step};

/// Returns a program that fails too, and of which no smaller variant that is tried here fails.
pub fn shrink(mut program: Program, mut fails: impl FnMut(&Program) -> bool) -> Program {
    loop {
        let Some(smaller) = variants(&program).into_iter().find(&mut fails) else { return program };
        program = smaller;
    }
}

/// Smaller programs, the smallest first.
fn variants(program: &Program) -> Vec<Program> {
    let mut variants = Vec::new();
    let mut add = |mut variant: Program| {
        variant.number();
        if variant != *program && has_scopes(&variant.main, false) {
            variants.push(variant);
        }
    };
    let mut bare = program.clone();
    bare.channels.truncate(program.used(Resource::Channel));
    bare.barriers.truncate(program.used(Resource::Barrier));
    bare.latches.truncate(program.used(Resource::Latch));
    add(bare);
    add(Program { is_global: false, ..program.clone() });
    add(Program { threads: program.threads.min(2), ..program.clone() });
    let here = |step: Step| if step.op == Op::Other { step.bodies[0].steps.clone() } else { vec![step] };
    add(Program { second: 0, ..edited(program, &mut { here }) });
    for kind in [Resource::Channel, Resource::Barrier, Resource::Latch, Resource::Order, Resource::Lock] {
        (0..program.used(kind)).for_each(|number| add(without(program, kind, number)));
    }
    let mut steps = 0;
    program.walk(|body, _, _| steps += body.steps.len());
    for wanted in 0..steps {
        add(edited_at(program, wanted, &|_| Vec::new()));
    }
    for wanted in 0..steps {
        let edits: [&dyn Fn(Step) -> Vec<Step>; 4] = [
            &|step| step.bodies.into_iter().flat_map(|body| body.steps).collect(),
            &|step| vec![Step { op: simpler(step.op), ..step }],
            &|step| vec![Step { count: step.count.min(1), ..step }],
            &|step| vec![Step { count: step.count - step.count / 2, ..step }],
        ];
        edits.iter().for_each(|edit| add(edited_at(program, wanted, edit)));
    }
    for channel in 0..program.channels.len() {
        // Half of what goes through the channel.
        add(edited(program, &mut |mut step| {
            let loops =
                step.bodies.iter().any(|body| body.steps.iter().any(|step| on(step, Resource::Channel, channel)));
            if step.count > 1 && (on(&step, Resource::Channel, channel) || loops) {
                step.count /= 2;
            }
            vec![step]
        }));
    }
    variants
}

fn on(step: &Step, kind: Resource, number: usize) -> bool {
    step.op.resource() == kind && step.on == number
}

/// The same step in its plainest form.
fn simpler(op: Op) -> Op {
    match op {
        Op::SpawnFifo => Op::Spawn,
        Op::ScopeFifo | Op::InPlace | Op::InPlaceFifo => Op::Scope,
        Op::Each | Op::Bridge => Op::Iter,
        Op::Poll => Op::Await,
        Op::Child => Op::Spawn,
        other => other,
    }
}

/// Replaces each step by what `edit` makes of it, in the order of the text.
fn edited(program: &Program, edit: &mut dyn FnMut(Step) -> Vec<Step>) -> Program {
    fn body(old: &Body, edit: &mut dyn FnMut(Step) -> Vec<Step>) -> Body {
        let mut steps = Vec::new();
        for step in &old.steps {
            for mut step in edit(step.clone()) {
                step.bodies = step.bodies.iter().map(|old| body(old, edit)).collect();
                steps.push(step);
            }
        }
        Body { number: 0, steps }
    }
    Program { main: body(&program.main, edit), ..program.clone() }
}

/// Replaces one step, given by its place in that order.
fn edited_at(program: &Program, wanted: usize, edit: &dyn Fn(Step) -> Vec<Step>) -> Program {
    // What replaces the step comes next in the order, and is left alone.
    let mut index = 0;
    edited(program, &mut |step| {
        index += 1;
        if index == wanted + 1 { edit(step) } else { vec![step] }
    })
}

/// Without all steps on one resource; what `hold` or `pull` did besides stays.
fn without(program: &Program, kind: Resource, number: usize) -> Program {
    let mut without = edited(program, &mut |step| match step.op {
        _ if !on(&step, kind, number) => vec![step],
        _ => step.bodies.into_iter().flat_map(|body| body.steps).collect(),
    });
    let list = match kind {
        Resource::Channel => &mut without.channels,
        Resource::Barrier => &mut without.barriers,
        Resource::Latch => &mut without.latches,
        _ => return without,
    };
    list.remove(number);
    edited(&without, &mut |mut step| {
        step.on -= usize::from(step.op.resource() == kind && step.on > number);
        vec![step]
    })
}

/// Each `child` is in a scope.
fn has_scopes(body: &Body, is_in_scope: bool) -> bool {
    body.steps.iter().all(|step| {
        let inside = match step.op {
            Op::Spawn | Op::SpawnFifo | Op::SpawnBroadcast => false,
            _ => is_in_scope || step.op.is_scope(),
        };
        (is_in_scope || step.op != Op::Child) && step.bodies.iter().all(|body| has_scopes(body, inside))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_fails_is_left() {
        let text = "threads 2 second 1 chan 1 2 latch 1 : other { scope { hold a { child { await a } } join { fifo { recv b*20 } \
                    } { each*20 { send b nap } down a } } } spawn { send a } recv a";
        let receives_what_it_sends = |program: &Program| {
            let text = program.to_string();
            text.contains("recv") && text.contains("iter") | text.contains("each") && text.contains("send")
        };
        let shrunk = shrink(text.parse().expect("a program"), receives_what_it_sends);
        assert_eq!(shrunk.to_string(), "threads 2 chan 2 : recv a iter { send a }");
    }
}
