/* kprof_clock.h: ready clocks for kprof_ram.c. Define one of
 *
 *   KPROF_CLOCK_DWT      Cortex-M3, M4, M7, M33: the cycle counter, 32 bits
 *   KPROF_CLOCK_SYSTICK  any Cortex-M whose program leaves SysTick alone: 24 bits
 *   KPROF_CLOCK_MCYCLE   RISC-V in machine mode: the cycle counter
 *   KPROF_CLOCK_RDTIME   RISC-V with the time CSR; on a host too
 *   KPROF_CLOCK_MTIME    RISC-V with a CLINT: mtime, at KPROF_MTIME (0x0200BFF8)
 *   KPROF_CLOCK_CNTVCT   AArch64: the virtual counter; on a host too
 *   KPROF_CLOCK_AVR      AVR: timer 1, which the program leaves alone; its clock is the CPU's / 8
 *   KPROF_CLOCK_TSC      x86; on a host too
 *
 * and, on a microcontroller, KPROF_COUNTER_HZ, its rate. KPROF_CLOCK_SHIFT divides it by a power of
 * two: 24 bits of time hold 0.23 s at 72 MHz, and with a shift of 6 15 s. kprof_clock_start sets the
 * counter going; kprof_ram_start calls it.
 */
#ifndef KPROF_CLOCK_H
#define KPROF_CLOCK_H

#ifndef KPROF_CLOCK_SHIFT
#define KPROF_CLOCK_SHIFT 0
#endif
#define KPROF_REGISTER(at) (*(volatile unsigned int *)(at##UL))
#if defined __SIZEOF_LONG__ && __SIZEOF_LONG__ == 8
typedef unsigned long kprof_u64;
#else
#ifdef __cplusplus
#pragma GCC diagnostic ignored "-Wlong-long"
#endif
__extension__ typedef unsigned long long kprof_u64;
#endif

#if defined KPROF_CLOCK_DWT

#define KPROF_COUNT_BITS 32
#define KPROF_COUNT() KPROF_REGISTER(0xE0001004)
#define KPROF_COUNT_START() \
    (KPROF_REGISTER(0xE000EDFC) |= 1U << 24, KPROF_REGISTER(0xE0001000) |= 1U)

#elif defined KPROF_CLOCK_SYSTICK

#define KPROF_COUNT_BITS 24
#define KPROF_COUNT() (0xFFFFFFU - KPROF_REGISTER(0xE000E018))
#define KPROF_COUNT_START() \
    (KPROF_REGISTER(0xE000E014) = 0xFFFFFFU, KPROF_REGISTER(0xE000E018) = 0U, \
     KPROF_REGISTER(0xE000E010) = 5U)

#elif defined KPROF_CLOCK_MCYCLE || defined KPROF_CLOCK_RDTIME

#define KPROF_COUNT_BITS __riscv_xlen
static __inline__ unsigned long kprof_count(void)
{
    unsigned long count;

#ifdef KPROF_CLOCK_MCYCLE
    __asm__ volatile ("csrr %0, mcycle" : "=r"(count));
#else
    __asm__ volatile ("rdtime %0" : "=r"(count));
#endif
    return count;
}
#define KPROF_COUNT() kprof_count()

#elif defined KPROF_CLOCK_MTIME

#ifndef KPROF_MTIME
#define KPROF_MTIME 0x0200BFF8
#endif
#define KPROF_COUNT_BITS 32
#define KPROF_COUNT() (*(volatile unsigned int *)(unsigned long)(KPROF_MTIME))

#elif defined KPROF_CLOCK_CNTVCT

#define KPROF_COUNT_BITS 56
static __inline__ kprof_u64 kprof_count(void)
{
    kprof_u64 count;

    __asm__ volatile ("isb\n\tmrs %0, cntvct_el0" : "=r"(count) : : "memory");
    return count;
}
#define KPROF_COUNT() kprof_count()

#elif defined KPROF_CLOCK_AVR

#include <avr/interrupt.h>
#include <avr/io.h>
#ifndef KPROF_COUNTER_HZ
#define KPROF_COUNTER_HZ (F_CPU / 8)
#endif
#define KPROF_COUNT_BITS 32
static volatile unsigned int kprof_overflows;

ISR(TIMER1_OVF_vect, __attribute__((no_instrument_function)))
{
    kprof_overflows++;
}

/* Interrupts are off: an overflow that the counter has had and nobody has counted is counted here. */
static unsigned long kprof_count(void)
{
    unsigned int low = TCNT1, high = kprof_overflows;

    if (TIFR1 & _BV(TOV1)) {
        low = TCNT1;
        high++;
    }
    return (unsigned long)high << 16 | low;
}
#define KPROF_COUNT() kprof_count()
#define KPROF_COUNT_START() (TCCR1A = 0, TCCR1B = _BV(CS11), TIMSK1 |= _BV(TOIE1))

#elif defined KPROF_CLOCK_TSC

#define KPROF_COUNT_BITS 64
#define KPROF_COUNT() ((kprof_u64)__builtin_ia32_rdtsc())

#endif

#ifdef KPROF_COUNT
#if KPROF_COUNT_BITS - KPROF_CLOCK_SHIFT < 24
#error "KPROF_CLOCK_SHIFT leaves less than 24 bits of the counter"
#endif
#ifndef KPROF_TIME
#define KPROF_TIME() (KPROF_COUNT() >> (KPROF_CLOCK_SHIFT))
#endif
#if !defined KPROF_CLOCK_HZ && defined KPROF_COUNTER_HZ
#define KPROF_CLOCK_HZ ((unsigned long)((KPROF_COUNTER_HZ) >> (KPROF_CLOCK_SHIFT)))
#endif
#endif

#ifndef KPROF_HOST
#ifndef KPROF_TIME
#error "define one of KPROF_CLOCK_..., or KPROF_TIME(), a free-running counter of at least 24 bits"
#endif
#if defined KPROF_AGENT && !defined KPROF_CLOCK_HZ
#error "define KPROF_CLOCK_HZ, the rate of KPROF_TIME(), or KPROF_COUNTER_HZ, that of the ready clock"
#endif

static void kprof_clock_start(void)
{
#ifdef KPROF_COUNT_START
    KPROF_COUNT_START();
#endif
}
#endif

#endif
