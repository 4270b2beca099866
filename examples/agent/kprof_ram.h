/* kprof_ram.h: the event RAM in software, for boards and hosts without the Profiler.
 *
 * `kprof instrument --target soft` plants calls of kprof_event; kprof_ram.c stores them. On a host
 * the capture is written to a file when the program ends:
 *
 *   cc -o program instrumented/a.c instrumented/b.c kprof_ram.c && ./program && kprof report kprof.bin
 *
 * In the environment of a host's program: KPROF_OUT, the file (kprof.bin); KPROF_EVENTS, how many
 * events are kept (a power of two); KPROF_KEEP=last, keep the last events, not the first. A file
 * is replaced when it is complete, one that a link leads to as well; a device or a pipe is written to.
 *
 * On a microcontroller define, on the compiler's command line or here,
 *   KPROF_TIME()       a free-running counter of at least 24 bits, such as (DWT->CYCCNT >> 8)
 *   KPROF_CLOCK_HZ     its rate
 *   KPROF_RAM_EVENTS   how many events, a power of two; each takes 5 bytes
 *   KPROF_LOCK(s), KPROF_UNLOCK(s)   mask and restore interrupts; known for 68k and Cortex-M
 * and serve the records with kpr_agent.c: kpr_ram is kprof_ram_byte.
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
#ifndef KPROF_CLOCK_HZ
#define KPROF_CLOCK_HZ 1000000UL
#endif

#define KPROF_STOP_WHEN_FULL 0
#define KPROF_KEEP_LAST 1

/* Store one event. May be called from interrupts, signals and threads at any time. */
void kprof_event(unsigned tag);

/* Forget all events and begin to store. At power-on it stores already, until it is full. */
void kprof_ram_start(int mode);

/* Store no more; the events stay. */
void kprof_ram_stop(void);

unsigned long kprof_ram_valid(void); /* events that are kept */
unsigned long kprof_ram_lost(void);  /* events seen and not kept, as far as it was counted */
int kprof_ram_full(void);            /* not 0: events were lost at the end, or overwritten */

/* Byte 0 to 4 of the record-th oldest event: time 23-16, 15-8, 7-0, tag 15-8, 7-0. */
unsigned char kprof_ram_byte(unsigned long record, int byte);

#ifdef KPROF_HOST
/* Write the capture file (KPD 1.0); 0: done. Called at the program's end by itself. */
int kprof_ram_write(const char *path);
#endif

#endif
