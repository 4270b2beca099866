/* kprof_host.h: the event RAM of a host's program, a part of kprof_ram.c.
 *
 * Each thread that fires an event has a stream, which nobody else writes to: no lock, no cache line
 * between processors. A signal may come between any two instructions of its thread, and fire
 * events. So the place of an event is taken by a compare-and-swap, which fails if an event was
 * stored since the clock was read; then the clock is read again. All that is rare happens in
 * kprof_look, where every event goes that is not below its stream's limit.
 *
 *   state of the recording    what an event does
 *   KPROF_NEW                 it reads the settings first (an event before our constructor)
 *   KPROF_STOPPED             nothing
 *   KPROF_ARMED               waits for the start tag
 *   KPROF_RUNNING             is stored
 *   KPROF_FULL                is counted
 */
#ifndef _DEFAULT_SOURCE
#define _DEFAULT_SOURCE 1
#endif
#ifndef _FILE_OFFSET_BITS
#define _FILE_OFFSET_BITS 64
#endif
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#include <sys/syscall.h>
#endif
#include "kprof_clock.h"

#if defined KPROF_TSC && defined __x86_64__ && !defined KPROF_COUNT
#define KPROF_COUNT() ((kprof_u64)__builtin_ia32_rdtsc())
#endif
#ifdef KPROF_COUNT
#define KPROF_NOW() ((kprof_u64)KPROF_COUNT())
#else
#define KPROF_NOW() kprof_now_ns()
#endif
#if defined __has_feature
#if __has_feature(thread_sanitizer)
#define KPROF_TSAN 1
#endif
#elif defined __SANITIZE_THREAD__
#define KPROF_TSAN 1
#endif
#ifdef KPROF_NO_THREADS
#define KPROF_OWN
#elif defined __ELF__ /* in a shared library too no function is called for it */
#define KPROF_OWN __attribute__((tls_model("initial-exec"))) __thread
#else
#define KPROF_OWN __thread
#endif
#define KPROF_LOAD(place) __atomic_load_n(&(place), __ATOMIC_ACQUIRE)
#define KPROF_STORE(place, value) __atomic_store_n(&(place), (value), __ATOMIC_SEQ_CST)
#define KPROF_COUNT_UP(place) __atomic_fetch_add(&(place), 1, __ATOMIC_RELAXED)
#if defined __SIZEOF_LONG__ && __SIZEOF_LONG__ == 8
#define KPROF_SLOT(place) __atomic_load_n(&(place), __ATOMIC_RELAXED)
#define KPROF_SET_SLOT(place, value) __atomic_store_n(&(place), (value), __ATOMIC_RELAXED)
#else
#define KPROF_SLOT(place) (place)
#define KPROF_SET_SLOT(place, value) ((place) = (value))
#endif
#define KPROF_PATH_ROOM 4096
#define KPROF_FIRST_LOOK 16UL         /* stored events between two looks at signals and names */
#define KPROF_LONGEST_LOOK (1UL << 16)
#ifndef KPROF_FOLD
#define KPROF_FOLD (1UL << 30)        /* where a ring's counter goes back: it may have 32 bits */
#endif

typedef char kprof_events_must_be_a_power_of_two[((KPROF_RAM_EVENTS) & ((KPROF_RAM_EVENTS) - 1)) == 0
                                                         ? 1 : -1];
typedef char kprof_marks_must_be_tags[(KPROF_MARK_COUNT) > 0 && (KPROF_MARK_FIRST) > 0
                                      && (KPROF_MARK_FIRST) + (KPROF_MARK_COUNT) <= 65536 ? 1 : -1];

enum { KPROF_NEW, KPROF_STOPPED, KPROF_ARMED, KPROF_RUNNING, KPROF_FULL };

/* time << 16 | tag: 48 bits of time do not wrap, and one store is an event */
struct kprof_stream {
    unsigned long next;  /* events stored in this run */
    unsigned long limit; /* events from this one on go to kprof_look */
    unsigned long mask;
    kprof_u64 *ram;
    unsigned long look;  /* when signals and names are looked at again */
    unsigned long away;  /* events refused because the event RAM was full */
    unsigned long run;   /* the run that next and away count; of another one they are void */
    unsigned long folds; /* how often next went back, by kprof_folded() */
    long thread;         /* the system's number of the thread, or 0 */
    char name[16];
};

static struct kprof_stream kprof_streams[KPROF_MARK_COUNT];
static struct kprof_stream kprof_nobody;    /* of a thread that has not fired an event */
static struct kprof_stream kprof_strangers; /* of threads without a stream: counted, not stored */
static KPROF_OWN struct kprof_stream *kprof_mine = &kprof_nobody;

static unsigned long kprof_joined;
static int kprof_state = KPROF_NEW, kprof_keep;
static unsigned kprof_first_tag, kprof_last_tag;
static unsigned long kprof_run_number;
static unsigned long kprof_size = KPROF_RAM_EVENTS;
static kprof_u64 kprof_start_ns, kprof_start_clock, kprof_run_began;
static long kprof_owner;
static int kprof_per_thread;
static char kprof_process[16]; /* the name that every thread begins with */
static char kprof_path[KPROF_PATH_ROOM];

static kprof_u64 kprof_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (kprof_u64)now.tv_sec * 1000000000UL + (kprof_u64)now.tv_nsec;
}

/* Only signals of the same thread come in between: on x86 the bus need not be locked. */
static __inline__ int kprof_take(unsigned long *next, unsigned long *at)
{
#if (defined __x86_64__ || defined __i386__) && !defined KPROF_TSAN
    unsigned char done;

    __asm__ volatile ("cmpxchg %3, %1\n\tsete %0"
                      : "=q"(done), "+m"(*next), "+a"(*at) : "r"(*at + 1) : "memory", "cc");
    return done;
#else
    return __atomic_compare_exchange_n(next, at, *at + 1, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
#endif
}

static void kprof_look(struct kprof_stream *stream, unsigned tag);

void kprof_event(unsigned tag)
{
    struct kprof_stream *stream = kprof_mine;
    unsigned long at = KPROF_LOAD(stream->next);
    kprof_u64 time;

    do {
        if (at >= KPROF_LOAD(stream->limit)) {
            kprof_look(stream, tag);
            return;
        }
        time = KPROF_NOW() - kprof_start_clock;
    } while (!kprof_take(&stream->next, &at));
    KPROF_SET_SLOT(stream->ram[at & stream->mask], time << 16 | (tag & 0xFFFFU));
}

/* Store whatever the limit says; 0: the event RAM is full. */
static int kprof_store(struct kprof_stream *stream, unsigned tag)
{
    unsigned long at = KPROF_LOAD(stream->next), end = KPROF_LOAD(kprof_keep) ? ~0UL : kprof_size;
    kprof_u64 time;

    do {
        if (at >= end)
            return 0;
        time = KPROF_NOW() - kprof_start_clock;
    } while (!kprof_take(&stream->next, &at));
    KPROF_SET_SLOT(stream->ram[at & stream->mask], time << 16 | (tag & 0xFFFFU));
    return 1;
}

/* What a ring's counter goes back by: a multiple of the ring, twice of which stays counted. */
static unsigned long kprof_folded(void)
{
    return kprof_size <= KPROF_FOLD / 4 ? KPROF_FOLD - 2 * kprof_size : 0;
}

static void kprof_name_stream(struct kprof_stream *stream)
{
#ifdef __linux__
    char name[16];
    int i;

    if (prctl(PR_GET_NAME, name, 0, 0, 0) == 0)
        for (i = 0; i < 16; i++)
            KPROF_STORE(stream->name[i], name[i]);
#else
    (void)stream;
#endif
}

static struct kprof_stream *kprof_join(void)
{
    unsigned long number = KPROF_LOAD(kprof_joined);
    struct kprof_stream *stream = &kprof_strangers;
    void *made = MAP_FAILED;

    while (number < KPROF_MARK_COUNT
           && !__atomic_compare_exchange_n(&kprof_joined, &number, number + 1, 0, __ATOMIC_ACQ_REL,
                                           __ATOMIC_ACQUIRE))
        ;
    if (number < KPROF_MARK_COUNT)
        made = mmap((void *)0, kprof_size * sizeof(kprof_u64), PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANON, -1, 0);
    if (made != MAP_FAILED) {
        stream = &kprof_streams[number];
        stream->mask = kprof_size - 1;
#ifdef __linux__
        stream->thread = (long)syscall(SYS_gettid);
#endif
        KPROF_STORE(stream->ram, (kprof_u64 *)made);
    }
    kprof_mine = stream;
    return stream;
}

/* A thread's stream, emptied for this run. */
static struct kprof_stream *kprof_ready(struct kprof_stream *stream, unsigned long run)
{
    if (stream == &kprof_nobody)
        stream = kprof_join();
    if (stream != &kprof_strangers && stream->run != run) {
        stream->look = 0;
        KPROF_STORE(stream->next, 0UL);
        KPROF_STORE(stream->away, 0UL);
        KPROF_STORE(stream->folds, 0UL);
        KPROF_STORE(stream->run, run);
    }
    return stream;
}

/* All streams' limits: 0, every event needs a look from now on. */
static void kprof_look_at_all(void)
{
    unsigned long i;

    for (i = 0; i < KPROF_MARK_COUNT; i++)
        KPROF_STORE(kprof_streams[i].limit, 0UL);
}

static void kprof_halt(int state)
{
    KPROF_STORE(kprof_state, state);
    kprof_look_at_all();
}

/* Whoever stops the recording sets its state, then the limits; here it is the other way round. */
static void kprof_set_limit(struct kprof_stream *stream)
{
    unsigned long limit = KPROF_LOAD(kprof_last_tag) ? 0 : stream->look;

    if (!KPROF_LOAD(kprof_keep) && limit > kprof_size)
        limit = kprof_size;
    KPROF_STORE(stream->limit, limit);
    if (__atomic_load_n(&kprof_state, __ATOMIC_SEQ_CST) != KPROF_RUNNING
        || __atomic_load_n(&kprof_run_number, __ATOMIC_SEQ_CST) != stream->run)
        KPROF_STORE(stream->limit, 0UL);
}

static void kprof_look_around(struct kprof_stream *stream)
{
    unsigned long at = KPROF_LOAD(stream->next), back = kprof_folded();
    unsigned long step = at < KPROF_FIRST_LOOK ? KPROF_FIRST_LOOK : at;

    if (KPROF_LOAD(kprof_keep) && back && at >= KPROF_FOLD
        && __atomic_compare_exchange_n(&stream->next, &at, at - back, 0, __ATOMIC_ACQ_REL,
                                       __ATOMIC_ACQUIRE)) {
        KPROF_COUNT_UP(stream->folds);
        at -= back;
    }
    stream->look = at + (step < KPROF_LONGEST_LOOK ? step : KPROF_LONGEST_LOOK);
    kprof_name_stream(stream);
    kprof_ram_signals();
}

static void kprof_at_start(void) __attribute__((constructor(101)));
static void kprof_at_end(void) __attribute__((destructor(101)));
static void kprof_halted(const char *why);

static void kprof_look(struct kprof_stream *stream, unsigned tag)
{
    int state = KPROF_LOAD(kprof_state), saved = errno;
    unsigned long run;
    sigset_t all, before;

    if (state == KPROF_NEW) {
        kprof_at_start();
        state = KPROF_LOAD(kprof_state);
    }
    if (state == KPROF_ARMED && tag == KPROF_LOAD(kprof_first_tag)
        && __atomic_compare_exchange_n(&kprof_state, &state, KPROF_RUNNING, 0, __ATOMIC_SEQ_CST,
                                       __ATOMIC_ACQUIRE))
        state = KPROF_RUNNING;
    if (state != KPROF_RUNNING && state != KPROF_FULL)
        return;
    run = KPROF_LOAD(kprof_run_number);
    if (stream == &kprof_nobody || (stream != &kprof_strangers && KPROF_LOAD(stream->run) != run)) {
        sigfillset(&all); /* an event of a signal comes before or after this */
        sigprocmask(SIG_BLOCK, &all, &before);
        stream = kprof_ready(kprof_mine, run);
        sigprocmask(SIG_SETMASK, &before, (sigset_t *)0);
    }
    if (stream == &kprof_strangers || state == KPROF_FULL) {
        KPROF_COUNT_UP(stream->away);
    } else {
        if (KPROF_LOAD(stream->next) >= stream->look)
            kprof_look_around(stream);
        if (!kprof_store(stream, tag)) {
            KPROF_COUNT_UP(stream->away);
            kprof_halt(KPROF_FULL);
            kprof_halted("event RAM full");
        } else if (KPROF_LOAD(kprof_last_tag) && tag == KPROF_LOAD(kprof_last_tag)) {
            kprof_halt(KPROF_STOPPED);
            kprof_halted("stop tag");
        } else {
            kprof_set_limit(stream);
        }
    }
    errno = saved;
}

void kprof_ram_between(int mode, unsigned start, unsigned stop)
{
    if (KPROF_LOAD(kprof_state) == KPROF_NEW)
        kprof_at_start();
    kprof_halt(KPROF_STOPPED);
    KPROF_STORE(kprof_keep, mode == KPROF_KEEP_LAST);
    KPROF_STORE(kprof_first_tag, start);
    KPROF_STORE(kprof_last_tag, stop);
    KPROF_STORE(kprof_run_number, kprof_run_number + 1); /* now there are no events */
    KPROF_STORE(kprof_strangers.away, 0UL);
    kprof_run_began = KPROF_NOW() - kprof_start_clock;
    KPROF_STORE(kprof_state, start == KPROF_ANY ? KPROF_RUNNING : KPROF_ARMED);
}

void kprof_ram_start(int mode)
{
    kprof_ram_between(mode, KPROF_ANY, KPROF_ANY);
}

void kprof_ram_stop(void)
{
    if (KPROF_LOAD(kprof_state) != KPROF_FULL)
        kprof_halt(KPROF_STOPPED);
}

unsigned long kprof_ram_run(void)
{
    return KPROF_LOAD(kprof_run_number) & 0xFFFFFFFFUL;
}

/* The events that stream `number` has kept, of all that it has seen; 0: it has seen none. */
static unsigned long kprof_kept(unsigned long number, kprof_u64 *seen)
{
    struct kprof_stream *stream = &kprof_streams[number];
    unsigned long next = KPROF_LOAD(stream->next);

    *seen = 0;
    if (!KPROF_LOAD(stream->ram) || KPROF_LOAD(stream->run) != kprof_ram_run())
        return 0;
    *seen = (kprof_u64)KPROF_LOAD(stream->folds) * kprof_folded() + next + KPROF_LOAD(stream->away);
    return next < kprof_size ? next : kprof_size;
}

unsigned long kprof_ram_valid(void)
{
    unsigned long i, valid = 0;
    kprof_u64 seen;

    for (i = 0; i < KPROF_MARK_COUNT; i++)
        valid += kprof_kept(i, &seen);
    return valid;
}

unsigned long kprof_ram_lost(void)
{
    kprof_u64 seen, lost = KPROF_LOAD(kprof_strangers.away);
    unsigned long i;

    for (i = 0; i < KPROF_MARK_COUNT; i++) {
        lost -= kprof_kept(i, &seen);
        lost += seen;
    }
    return (unsigned long)lost;
}

int kprof_ram_full(void)
{
    unsigned long i;
    kprof_u64 seen;

    for (i = 0; i < KPROF_MARK_COUNT; i++)
        if (kprof_kept(i, &seen) == kprof_size)
            return 1;
    return 0;
}

#include "kprof_file.h"
#include "kprof_save.h"
#include "kprof_end.h"
