// filch-jobs.hpp: jobs for C++17, which are created, get children, are kicked and awaited.
//
//     filch::team team(4);
//     team.run([](filch::job_worker w) {
//         filch::job all = w.create([](filch::job_worker) {});
//         for (int n = 0; n < 10000; n++) {
//             w.kick(w.create_child(all, [=](filch::job_worker) { work(n); }));
//         }
//         w.kick(all);
//         w.wait(all);
//     });
//
// A job is over once it has run and all its children are over. Workers run their own jobs, newest first, or steal. A
// run returns when all jobs are over. If a job throws, its waiting ancestors end as well, the rest is dropped, and the
// run throws that exception.
//
// What must always hold: each job that is created is kicked once, or its run does not end; a child is created only of a
// job that is not over: of one not kicked yet, or by the job itself or its descendants.
#ifndef FILCH_JOBS_HPP
#define FILCH_JOBS_HPP

#include "filch.hpp"

namespace filch {

/// A job of a run. It may be copied, and is worthless once the run has returned.
struct job {
    alignas(8) unsigned char bytes[FILCH_JOB_SIZE];
};

} // namespace filch

extern "C" {
struct filch_team_;
struct filch_job_worker_;

/* Calls a function with its captures; returns whether it has thrown. Destroys the captures if there is no worker. */
typedef bool (*filch_job_fn_)(filch_job_worker_ *worker, void *captures, filch_thrown_ *thrown);

filch_team_ *filch_team_start_(size_t workers, uint32_t abi);
void filch_team_stop_(filch_team_ *team);
void filch_team_run_(filch_team_ *team, filch_job_fn_ body, void *context);
void filch_job_create_(filch_job_worker_ *worker, const filch::job *parent, filch_job_fn_ function,
    const void *captures, filch::job *job);
void filch_job_kick_(filch_job_worker_ *worker, const filch::job *jobs, size_t count);
void filch_job_wait_(filch_job_worker_ *worker, const filch::job *job);
}

namespace filch {

/// A worker of a run, as a job sees it. It is worthless once the function that got it has returned.
class job_worker {
public:
    explicit job_worker(filch_job_worker_ *own) : own(own) {}

    /// Makes a child of the current job, which begins after it has been kicked: `f` takes a job_worker. Captures that
    /// are copied as bytes, of FILCH_JOB_CAPTURES at most, cost no allocation.
    template <class F> job create(F &&f) const
    {
        return made(nullptr, std::forward<F>(f));
    }

    /// Makes a child of a job: of one that has not been kicked, of the current one, or of an ancestor.
    template <class F> job create_child(const job &parent, F &&f) const
    {
        return made(&parent, std::forward<F>(f));
    }

    void kick(const job &one) const
    {
        kick(&one, 1);
    }

    /// Kicks several jobs at once, for little more than the price of one.
    void kick(const job *jobs, size_t count) const
    {
        filch_job_kick_(own, jobs, count);
    }

    /// Waits for a descendant of the current job and all its own descendants. Meanwhile the worker runs jobs.
    void wait(const job &one) const
    {
        filch_job_wait_(own, &one);
    }

private:
    filch_job_worker_ *own;

    template <class F> job made(const job *parent, F &&f) const
    {
        using work = std::decay_t<F>;
        constexpr bool is_near = std::is_trivially_copyable_v<work> && std::is_copy_constructible_v<work>
            && sizeof(work) <= FILCH_JOB_CAPTURES && alignof(work) <= alignof(uint64_t);
        alignas(uint64_t) unsigned char captures[FILCH_JOB_CAPTURES] = {};
        if constexpr (is_near) {
            new (captures) work(std::forward<F>(f));
        } else {
            new (captures) work *(new work(std::forward<F>(f)));
        }
        job made;
        filch_job_create_(own, parent, call<work, is_near>, captures, &made);
        return made;
    }

    template <class F, bool is_near>
    static bool call(filch_job_worker_ *worker, void *captures, filch_thrown_ *thrown)
    {
        try {
            if constexpr (is_near) {
                F work = *static_cast<F *>(captures);
                if (worker) work(job_worker(worker));
            } else {
                std::unique_ptr<F> work(*static_cast<F **>(captures));
                if (worker) (*work)(job_worker(worker));
            }
            return false;
        } catch (...) {
            return filch_keep_thrown_(thrown);
        }
    }
};

/// Threads that run jobs, of which the caller of a run is one. They are joined when the team goes.
class team {
public:
    /// Starts the threads, as many as there are processors for 0; throws std::runtime_error if they cannot start.
    explicit team(size_t workers = 0) : started(filch_team_start_(workers, FILCH_ABI))
    {
        if (!started) throw std::runtime_error(filch_error());
    }

    /// Runs `f`, which takes a job_worker, here, and all jobs that it and they create on all workers.
    template <class F> void run(F &&f)
    {
        filch_team_run_(started.get(), body<std::remove_reference_t<F>>, std::addressof(f));
    }

private:
    template <class F> static bool body(filch_job_worker_ *worker, void *f, filch_thrown_ *thrown)
    {
        try {
            (*static_cast<F *>(f))(job_worker(worker));
            return false;
        } catch (...) {
            return filch_keep_thrown_(thrown);
        }
    }

    std::unique_ptr<filch_team_, detail::stopped_by<filch_team_stop_>> started;
};

} // namespace filch

#endif
