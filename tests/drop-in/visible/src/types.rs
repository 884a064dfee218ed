//! The public types: their sizes, what they implement, and their texts.

use std::any::type_name;
use std::error::Error;
use std::fmt::{Debug, Display};
use std::marker::PhantomData;
use std::panic::{RefUnwindSafe, UnwindSafe};

use rayon::{
    BroadcastContext, FnContext, Scope, ScopeFifo, ThreadBuilder, ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder,
    Yield,
};

use crate::{Group, pool, say};

pub const GROUPS: &[Group] = &[("type.traits", traits), ("type.sizes", sizes), ("type.texts", texts)];

/// The constant of the type itself, where the trait is implemented, goes before that of this trait.
macro_rules! implements {
    ($type:ty: $($implemented:ident)*) => {{
        let mut all = Vec::new();
        $({
            struct Of<T: ?Sized>(PhantomData<T>);
            #[allow(dead_code, reason = "the type decides which of the two constants is used")]
            trait Fallback {
                const IS: bool = false;
            }
            impl<T: ?Sized> Fallback for T {}
            #[allow(dead_code, reason = "as above")]
            impl<T: $implemented + ?Sized> Of<T> {
                const IS: bool = true;
            }
            if Of::<$type>::IS {
                all.push(stringify!($implemented));
            }
        })*
        all.join(" ")
    }};
}

macro_rules! for_each_type {
    ($f:ident) => {
        $f!(ThreadPool);
        $f!(ThreadPoolBuilder);
        $f!(ThreadPoolBuildError);
        $f!(ThreadBuilder);
        $f!(Scope<'static>);
        $f!(ScopeFifo<'static>);
        $f!(BroadcastContext<'static>);
        $f!(FnContext);
        $f!(Yield);
    };
}

fn name<T>() -> String {
    let name = type_name::<T>().split('<').next().expect("a name");
    name.rsplit("::").next().expect("a name").to_owned()
}

fn traits() {
    macro_rules! tell {
        ($type:ty) => {
            say(
                format!("type.traits.{}", name::<$type>()),
                implements!(
                    $type: Send Sync Unpin UnwindSafe RefUnwindSafe Debug Display Error Clone Copy Default PartialEq Eq
                ),
            )
        };
    }
    for_each_type!(tell);
}

fn sizes() {
    macro_rules! tell {
        ($type:ty) => {
            say(format!("type.sizes.{}", name::<$type>()), size_of::<$type>())
        };
    }
    for_each_type!(tell);
}

/// A text without the numbers in it, which may be addresses.
fn without_numbers(text: &str) -> String {
    let mut all = String::new();
    for c in text.chars() {
        match c {
            '0'..='9' if all.ends_with('#') => (),
            '0'..='9' => all.push('#'),
            c => all.push(c),
        }
    }
    all
}

fn texts() {
    let one = pool(1);
    let tell =
        |name: &str, value: &dyn Debug| say(format!("type.texts.{name}"), without_numbers(&format!("{value:?}")));
    tell("ThreadPool", &one);
    tell("ThreadPoolBuilder", &ThreadPoolBuilder::new());
    let names = ThreadPoolBuilder::new().thread_name(|n| n.to_string()).stack_size(1 << 20);
    tell(
        "ThreadPoolBuilder_set",
        &names.start_handler(|_| ()).exit_handler(|_| ()).panic_handler(|_| ()).use_current_thread(),
    );
    one.scope(|s| tell("Scope", s));
    one.scope_fifo(|s| tell("ScopeFifo", s));
    one.broadcast(|context| tell("BroadcastContext", &context));
    one.install(|| rayon::join_context(|context| tell("FnContext", &context), |_| ()));
    tell("Yield", &[Yield::Executed, Yield::Idle]);
    let built = ThreadPoolBuilder::new().num_threads(1).spawn_handler(|thread| {
        tell("ThreadBuilder", &thread);
        Err(std::io::Error::other("refused"))
    });
    let error = built.build().expect_err("refused");
    tell("ThreadPoolBuildError", &error);
    say("type.texts.ThreadPoolBuildError.display", &error);
    say("type.texts.ThreadPoolBuildError.source", format!("{:?}", error.source().map(ToString::to_string)));
}
