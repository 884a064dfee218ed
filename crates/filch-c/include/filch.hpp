// filch.hpp: fork and join for C++17, with closures and exceptions, on filch.h.
//
//     long fib(int n)
//     {
//         if (n < 2) return n;
//         auto [a, b] = filch::join([=] { return fib(n - 1); }, [=] { return fib(n - 2); });
//         return a + b;
//     }
//
// The first branch runs here; the second is stolen by an idle worker, or runs here afterwards. Branches that take a
// filch_worker, as do those of filch::join(worker, f, g), fork without a call into the library while nobody steals.
//
// An exception in a branch leaves the join, once the other branch has ended. If the first branch throws, the second
// does not run, unless it has begun; if both throw, the first one's exception counts. A panic of Rust travels likewise.
//
// What must always hold: nothing of a frame is used by another thread once its join has returned or thrown.
#ifndef FILCH_HPP
#define FILCH_HPP

#include "filch.h"

#include <atomic>
#include <exception>
#include <iterator>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <variant>

namespace filch {

namespace detail {

/// The result of a call, of a type that values can have.
template <class F, class... A>
using result = std::conditional_t<std::is_void_v<std::invoke_result_t<F &, A...>>, std::monostate,
    std::invoke_result_t<F &, A...>>;

template <class F, class... A> result<F, A...> call(F &f, A... a)
{
    if constexpr (std::is_void_v<std::invoke_result_t<F &, A...>>) {
        f(a...);
        return {};
    } else {
        return f(a...);
    }
}

/// A call whose outcome its caller takes over.
template <class F, class... A> struct outcome {
    F &f;
    std::optional<result<F, A...>> value{};
    std::exception_ptr exception{};

    /// Makes the call; returns whether it has thrown an exception.
    bool make(A... a)
    {
        try {
            value.emplace(call(f, a...));
            return false;
        } catch (...) {
            filch_keep_for_(exception);
            return true;
        }
    }

    /// Returns what the call has returned, or throws what it has thrown.
    result<F, A...> take()
    {
        if (exception) std::rethrow_exception(std::move(exception));
        return std::move(*value);
    }
};

template <class F> bool make_here(void *context)
{
    return static_cast<outcome<F> *>(context)->make();
}

template <class F> void make_on(filch_worker worker, void *context)
{
    static_cast<outcome<F, filch_worker> *>(context)->make(worker);
}

/// Whether a value may lie in a slot.
template <class T>
constexpr bool fits = std::is_trivially_copyable_v<T> && std::is_copy_constructible_v<T>
    && sizeof(T) <= FILCH_SLOT_ROOM_SIZE && alignof(T) <= FILCH_SLOT_ROOM;

/// The second branch in a slot: itself, and later its result; or the address of both, on the frame of its fork.
template <class G> struct branch {
    using value = result<G, filch_worker>;
    static constexpr bool is_near = fits<G> && fits<value>;

    struct far {
        G &work;
        std::optional<value> result;
    };
    /// Read and written as bytes are: moved, since the types are trivially copyable.
    template <class T> static T &in(filch_slot_ *slot)
    {
        return *static_cast<T *>(filch_room_(slot));
    }

    static bool stolen(filch_slot_ *slot, filch_worker worker)
    {
        try {
            if constexpr (is_near) {
                G work = in<G>(slot);
                new (filch_room_(slot)) value(call(work, worker));
            } else {
                far *place = in<far *>(slot);
                place->result.emplace(call(place->work, worker));
            }
            return false;
        } catch (...) {
            return filch_keep_exception_(slot);
        }
    }

    static bool run(filch_slot_ *slot, filch_front_ *front, uintptr_t head)
    {
        return front && filch_stolen_(slot, filch_worker{front, head}, stolen, true);
    }
};

/// Drops the second branch of a fork that unwinds.
struct guard {
    filch_worker above, base;
    bool is_over = false;

    ~guard()
    {
        if (!is_over) filch_abandon_(above, base);
    }
};

/// Stops what a pointer owns.
template <auto stop> struct stopped_by {
    template <class T> void operator()(T *started) const
    {
        stop(started);
    }
};

} // namespace detail

/// Runs both branches, perhaps in parallel, each with the worker that it may fork at. Returns both results, with
/// std::monostate for none.
template <class F, class G> inline auto join(filch_worker worker, F &&f, G &&g)
{
    using work = std::decay_t<G>;
    using branch = detail::branch<work>;
    auto write = [&](filch_slot_ *slot, typename branch::far *place) {
        if constexpr (branch::is_near) {
            new (filch_room_(slot)) work(g);
        } else {
            new (filch_room_(slot)) typename branch::far *(place);
        }
        filch_set_run_(slot, branch::run);
    };
    std::conditional_t<branch::is_near, std::monostate, std::optional<work>> kept;
    std::conditional_t<branch::is_near, std::monostate, std::optional<typename branch::far>> frame;
    typename branch::far *place = nullptr;
    if constexpr (!branch::is_near) {
        kept.emplace(std::forward<G>(g));
        frame.emplace(typename branch::far{*kept, {}});
        place = &*frame;
    }
    if (filch_admits_push_(worker)) {
        write(filch_head_(worker), place);
    } else {
        write(filch_scratch_(worker), place);
        filch_push_(worker);
    }
    detail::guard guard{{worker.front, worker.head + FILCH_SLOT_SIZE}, worker};
    auto first = detail::call(f, guard.above);
    guard.is_over = true;

    using both = std::pair<decltype(first), typename branch::value>;
    filch_popped_ popped{filch_head_(worker), FILCH_UNRUN};
    if (!filch_admits_pop_(worker)) popped = filch_pop_(worker);
    if (__builtin_expect(popped.settled == FILCH_THROWN, 0)) filch_resume_(popped.slot, nullptr);
    if constexpr (branch::is_near) {
        if (__builtin_expect(popped.settled == FILCH_DONE, 0)) {
            return both(std::move(first), branch::template in<typename branch::value>(popped.slot));
        }
        work second = branch::template in<work>(popped.slot);
        return both(std::move(first), detail::call(second, worker));
    } else {
        if (popped.settled == FILCH_DONE) return both(std::move(first), std::move(*place->result));
        return both(std::move(first), detail::call(*kept, worker));
    }
}

/// Runs both branches, perhaps in parallel, on the current worker's pool or the global one. Returns both results, with
/// std::monostate for none.
template <class F, class G> inline auto join(F &&f, G &&g)
{
    detail::outcome<std::remove_reference_t<F>> first{f};
    detail::outcome<std::remove_reference_t<G>> second{g};
    switch (filch_join_(detail::make_here<std::remove_reference_t<F>>, &first,
        detail::make_here<std::remove_reference_t<G>>, &second)) {
    case 1: std::rethrow_exception(std::move(first.exception));
    case 2: std::rethrow_exception(std::move(second.exception));
    default: return std::pair(first.take(), second.take());
    }
}

/// Calls `f` on every item between `first` and `last`, perhaps in parallel, on the current worker's pool or the global
/// one: on the numbers themselves, or on what random-access iterators point to. If a call throws, the loop leaves out
/// items not yet reached, and throws one of the exceptions.
template <class I, class F> inline void for_each(I first, I last, F &&f)
{
    struct context {
        I first;
        std::remove_reference_t<F> &f;
        std::atomic_flag has_thrown = ATOMIC_FLAG_INIT;
        std::exception_ptr exception{};

        static bool block(size_t first, size_t last, void *loop)
        {
            context &own = *static_cast<context *>(loop);
            try {
                for (size_t item = first; item < last; ++item) {
                    if constexpr (std::is_integral_v<I>) {
                        own.f(static_cast<I>(own.first + static_cast<I>(item)));
                    } else {
                        own.f(own.first[static_cast<typename std::iterator_traits<I>::difference_type>(item)]);
                    }
                }
                return false;
            } catch (...) {
                std::exception_ptr exception;
                filch_keep_for_(exception);
                if (!own.has_thrown.test_and_set()) own.exception = std::move(exception);
                return true;
            }
        }
    };
    context own{first, f};
    if (first < last && filch_for_here_(0, static_cast<size_t>(last - first), context::block, &own)) {
        std::rethrow_exception(std::move(own.exception));
    }
}

/// A pool of workers, which stops when it goes.
class pool {
public:
    /// Starts the workers; throws std::runtime_error if they cannot start.
    explicit pool(const filch_settings &settings) : started(filch_pool_start(&settings))
    {
        if (!started) throw std::runtime_error(filch_error());
    }

    explicit pool(size_t workers) : pool(with(workers)) {}

    /// Runs `f`, which takes a filch_worker, on a worker, and returns its result.
    template <class F> auto run(F &&f) const
    {
        using work = std::remove_reference_t<F>;
        detail::outcome<work, filch_worker> own{f};
        filch_run_(started.get(), FILCH_RUN_, detail::make_on<work>, &own, sizeof(own), true);
        return own.take();
    }

    /// The pool, for filch.h.
    filch_pool *get() const
    {
        return started.get();
    }

private:
    static filch_settings with(size_t workers)
    {
        filch_settings settings{};
        settings.workers = workers;
        return settings;
    }

    std::unique_ptr<filch_pool, detail::stopped_by<filch_pool_stop>> started;
};

} // namespace filch

#endif
