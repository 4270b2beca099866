/* kprof_ram.c: the event RAM in software. kprof_ram.h says how to use it.
 *
 * This is a microcontroller's: one RAM, interrupts masked while an event is stored, so that the
 * records are in the order of their times. A host's is in kprof_host.h.
 */
#include "kprof_ram.h"

#ifdef KPROF_HOST
#include "kprof_host.h"
#else

#include "kprof_clock.h"

#if defined KPROF_LOCK
/* the board's own */
#elif defined __m68k__
#define KPROF_LOCK(s) __asm__ volatile ("move.w %%sr,%0\n\tori.w #0x700,%%sr" : "=d"(s) : : "memory")
#define KPROF_UNLOCK(s) __asm__ volatile ("move.w %0,%%sr" : : "d"(s) : "memory")
#elif defined __ARM_ARCH_PROFILE && __ARM_ARCH_PROFILE == 'M'
#define KPROF_LOCK(s) __asm__ volatile ("mrs %0, primask\n\tcpsid i" : "=r"(s) : : "memory")
#define KPROF_UNLOCK(s) __asm__ volatile ("msr primask, %0" : : "r"(s) : "memory")
#elif defined __aarch64__
#define KPROF_LOCK(s) __asm__ volatile ("mrs %0, daif\n\tmsr daifset, #3" : "=r"(s) : : "memory")
#define KPROF_UNLOCK(s) __asm__ volatile ("msr daif, %0" : : "r"(s) : "memory")
#elif defined __arm__ && defined __ARM_ARCH && __ARM_ARCH >= 6
#define KPROF_LOCK(s) __asm__ volatile ("mrs %0, cpsr\n\tcpsid if" : "=r"(s) : : "memory")
#define KPROF_UNLOCK(s) __asm__ volatile ("msr cpsr_c, %0" : : "r"(s) : "memory")
#elif defined __riscv
#define KPROF_LOCK(s) __asm__ volatile ("csrrci %0, mstatus, 8" : "=r"(s) : : "memory")
#define KPROF_UNLOCK(s) __asm__ volatile ("csrs mstatus, %0" : : "r"((s) & 8) : "memory")
#elif defined __AVR__
#define KPROF_LOCK(s) __asm__ volatile ("in %A0, 0x3f\n\tcli" : "=r"(s) : : "memory")
#define KPROF_UNLOCK(s) __asm__ volatile ("out 0x3f, %A0" : : "r"(s) : "memory")
#else
#error "define KPROF_LOCK(s) and KPROF_UNLOCK(s), which mask and restore interrupts"
#endif

#ifndef KPROF_NOINIT
#define KPROF_NOINIT
#endif

#define KPROF_SIZE ((unsigned long)KPROF_RAM_EVENTS)
typedef char kprof_events_must_be_a_power_of_two[(KPROF_SIZE & (KPROF_SIZE - 1)) == 0 ? 1 : -1];

enum { KPROF_STOPPED, KPROF_ARMED, KPROF_RUNNING };

static unsigned char kprof_ram[KPROF_RAM_EVENTS][5];
static volatile unsigned long kprof_next; /* where the next event goes; at and past the size: full */
static volatile unsigned long kprof_limit = KPROF_RAM_EVENTS; /* events from here on need a look */
static volatile unsigned long kprof_away;                     /* events refused or overwritten */
static unsigned char kprof_state = KPROF_RUNNING, kprof_keep;
static unsigned kprof_first_tag, kprof_last_tag;
static unsigned long kprof_runs KPROF_NOINIT;

static void kprof_store(unsigned tag)
{
    unsigned long time = (unsigned long)KPROF_TIME();
    unsigned char *record = kprof_ram[kprof_next++ & (KPROF_SIZE - 1)];

    record[0] = (unsigned char)(time >> 16);
    record[1] = (unsigned char)(time >> 8);
    record[2] = (unsigned char)time;
    record[3] = (unsigned char)(tag >> 8);
    record[4] = (unsigned char)tag;
}

/* Not stopped and not full, the end of the RAM apart, an event is just stored. */
static void kprof_look(unsigned tag)
{
    if (kprof_state == KPROF_ARMED && tag == kprof_first_tag)
        kprof_state = KPROF_RUNNING;
    if (kprof_state != KPROF_RUNNING)
        return;
    if (kprof_keep && kprof_next >= 2 * KPROF_SIZE) {
        kprof_next -= KPROF_SIZE;
        kprof_away += KPROF_SIZE;
    }
    if (!kprof_keep && kprof_next >= KPROF_SIZE)
        kprof_away++;
    else
        kprof_store(tag);
    if (kprof_last_tag && tag == kprof_last_tag)
        kprof_state = KPROF_STOPPED;
    else if (!kprof_last_tag)
        kprof_limit = kprof_keep ? 2 * KPROF_SIZE : KPROF_SIZE;
}

void kprof_event(unsigned tag)
{
    unsigned long saved;

    KPROF_LOCK(saved);
    if (kprof_next < kprof_limit)
        kprof_store(tag);
    else
        kprof_look(tag);
    KPROF_UNLOCK(saved);
}

void kprof_ram_between(int mode, unsigned start, unsigned stop)
{
    unsigned long saved;

    kprof_clock_start();
    KPROF_LOCK(saved);
    kprof_runs++;
    kprof_next = kprof_away = kprof_limit = 0;
    kprof_keep = mode == KPROF_KEEP_LAST;
    kprof_first_tag = start;
    kprof_last_tag = stop;
    kprof_state = start == KPROF_ANY ? KPROF_RUNNING : KPROF_ARMED;
    KPROF_UNLOCK(saved);
}

void kprof_ram_start(int mode)
{
    kprof_ram_between(mode, KPROF_ANY, KPROF_ANY);
}

void kprof_ram_stop(void)
{
    unsigned long saved;

    KPROF_LOCK(saved);
    kprof_limit = 0;
    kprof_state = KPROF_STOPPED;
    KPROF_UNLOCK(saved);
}

unsigned long kprof_ram_valid(void)
{
    return kprof_next < KPROF_SIZE ? kprof_next : KPROF_SIZE;
}

unsigned long kprof_ram_lost(void)
{
    return kprof_next - kprof_ram_valid() + kprof_away;
}

int kprof_ram_full(void)
{
    return kprof_next >= KPROF_SIZE;
}

unsigned long kprof_ram_run(void)
{
    return kprof_runs & 0xFFFFFFFFUL;
}

unsigned char kprof_ram_byte(unsigned long record, int byte)
{
    unsigned long at = kprof_next > KPROF_SIZE ? kprof_next + record : record;

    return kprof_ram[at & (KPROF_SIZE - 1)][byte];
}

#ifdef KPROF_AGENT
#include "kpr_agent.h"

unsigned char kpr_ram(unsigned long record, int byte)
{
    return kprof_ram_byte(record, byte);
}

void kprof_ram_serve(const char *board)
{
    struct kpr_info info;

    kprof_ram_stop();
    info.name = board;
    info.clock_hz = KPROF_CLOCK_HZ;
    info.capacity = KPROF_SIZE;
    info.valid = kprof_ram_valid();
    info.flags = kprof_ram_full() ? KPR_FULL : 0;
    info.baud = 0;
    info.poll = 0;
    info.run = kprof_ram_run;
    kpr_agent(&info);
}
#endif

#endif
