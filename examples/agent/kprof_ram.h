/* kprof_ram.h: the event RAM in software, for boards and hosts without the Profiler.
 *
 * `kprof instrument --target soft` plants calls of kprof_event; kprof_ram.c stores them. On a host
 * (any POSIX system) the program writes its capture to a file:
 *
 *   cc -o program instrumented/a.c instrumented/b.c kprof_ram.c && ./program && kprof report kprof.bin
 *
 * It is written at the program's end, when the event RAM is full, at the stop tag, on a signal that
 * ends the program (the program's own handler runs after that), and by kprof_ram_flush. Each
 * thread has an event RAM of its own. In the environment of a host's program:
 *   KPROF_OUT         the file (kprof.bin). It is replaced when it is complete; a link is followed,
 *                     a device or a pipe is written to
 *   KPROF_EVENTS      events kept of each thread, a power of two (16384)
 *   KPROF_KEEP=last   a ring: keep the last events, not the first
 *   KPROF_START, KPROF_STOP   tags: store from the first event START up to the next event STOP
 *   KPROF_PER_THREAD=1   a file for each thread, OUT.t0, OUT.t1 ...
 *   KPROF_SIGNALS=0   leave all signals alone
 *
 * On a microcontroller define, on the compiler's command line or here,
 *   KPROF_CLOCK_...    one of the ready clocks of kprof_clock.h; or
 *   KPROF_TIME()       a free-running counter of at least 24 bits, and
 *   KPROF_CLOCK_HZ     its rate
 *   KPROF_RAM_EVENTS   how many events, a power of two; each takes 5 bytes
 *   KPROF_LOCK(s), KPROF_UNLOCK(s)   mask and restore interrupts; known for 68k, Cortex-M, ARM,
 *                      AArch64, RISC-V (machine mode) and AVR
 *   KPROF_NOINIT       an attribute for the run number, which should outlive a reset
 *   KPROF_AGENT        also define kpr_ram and kprof_ram_serve for kpr_agent.c
 */
#ifndef KPROF_RAM_H
#define KPROF_RAM_H

#if defined __STDC_HOSTED__ && __STDC_HOSTED__ && (defined __unix__ || defined __APPLE__) \
    && !defined KPROF_TIME
#define KPROF_HOST 1
#endif

#ifndef KPROF_RAM_EVENTS
#define KPROF_RAM_EVENTS 16384
#endif

/* On a host, in a capture of several threads, tag KPROF_MARK_FIRST + n says: thread n runs from
 * here on. The program has no tags of its own there. KPROF_NO_THREADS leaves threads out. */
#ifndef KPROF_MARK_FIRST
#define KPROF_MARK_FIRST 65280
#endif
#ifndef KPROF_MARK_COUNT
#define KPROF_MARK_COUNT 256
#endif

#define KPROF_STOP_WHEN_FULL 0
#define KPROF_KEEP_LAST 1
#define KPROF_ANY 0 /* for kprof_ram_between: from now on, or without an end */

#ifdef __cplusplus
extern "C" {
#endif

/* Store one event. May be called from interrupts, signals and threads at any time. */
void kprof_event(unsigned tag);

/* Forget all events and begin to store. At power-on it stores already, until it is full. */
void kprof_ram_start(int mode);

/* Forget all events; store from the first event `start` up to the next event `stop`, with both.
 * With KPROF_KEEP_LAST these are the last events before `stop`. */
void kprof_ram_between(int mode, unsigned start, unsigned stop);

/* Store no more; the events stay. */
void kprof_ram_stop(void);

unsigned long kprof_ram_valid(void); /* events that are kept */
unsigned long kprof_ram_lost(void);  /* events that came while it was storing and are not kept */
int kprof_ram_full(void);            /* not 0: events were lost at the end, or overwritten */
unsigned long kprof_ram_run(void);   /* the number of this run: every start adds one */

#ifdef KPROF_HOST
/* Write the capture file (KPD 1.0); 0: done. Storing goes on. Safe in a signal handler. */
int kprof_ram_write(const char *path);

/* The same to KPROF_OUT. Call it before _exit, which ends a program without its last words. */
int kprof_ram_flush(void);

/* Take the signals that end a program, and call the handlers that the program has now. It is done
 * now and then by itself; a program that sets a handler may call it to be sure. */
void kprof_ram_signals(void);
#else
/* Byte 0 to 4 of the record-th oldest event: time 23-16, 15-8, 7-0, tag 15-8, 7-0. */
unsigned char kprof_ram_byte(unsigned long record, int byte);

#ifdef KPROF_AGENT
/* Stop, and serve the events to `kprof upload` with kpr_agent.c until the host has finished. */
void kprof_ram_serve(const char *board);
#endif
#endif

#ifdef __cplusplus
}
#endif

#endif
