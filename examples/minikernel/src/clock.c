/* clock.c: the DUART's timer at 100 Hz, time-outs, and the soft interrupt. */
#include "kernel.h"

#define TIMER_PRELOAD 18432 /* 3.6864 MHz / (2 * 18432) = 100 Hz */
#define CALLOUTS 8

struct callout {
    int left; /* ticks; 0: free */
    void (*f)(void *);
    void *argument;
};

volatile u32 soft_pending;
volatile u32 ticks;
static struct callout callouts[CALLOUTS];

#ifndef OWN_CLOCK

void clock_init(void)
{
    DREG(D_ACR) = 0x60; /* timer, from the crystal */
    DREG(D_CTU) = TIMER_PRELOAD >> 8;
    DREG(D_CTL) = TIMER_PRELOAD & 0xFF;
    (void)DREG(D_START);
}

#endif

/* The interrupt handler of the timer: short, the rest is left to the soft interrupt. */
void clock(void)
{
    struct callout *c;

    COUNT(clock);
    ticks++;
    for (c = callouts; c < callouts + CALLOUTS; c++)
        if (c->left > 1 && --c->left == 1)
            soft_pending |= SOFT_CLOCK;
}

#ifndef OWN_CLOCK

/* Level 5: the DUART, for its timer and its channels. */
void vec0(void)
{
    int status = DREG(D_ISR) & duart_mask;

    COUNT(vec0);
    if (status & ISR_COUNTER) {
        (void)DREG(D_STOP);
        clock();
    }
    if (status & (ISR_RXA | ISR_RXB | ISR_TXA))
        duartint(status);
}

#endif

/* Run the time-outs that are due. */
void softclock(void)
{
    struct callout *c;

    COUNT(softclock);
    for (c = callouts; c < callouts + CALLOUTS; c++)
        if (c->left == 1) {
            c->left = 0;
            c->f(c->argument);
        }
}

void softint(void)
{
    int s = splhigh();
    u32 pending = soft_pending;

    COUNT(softint);
    soft_pending = 0;
    splx(s);
#ifndef NO_NET
    if (pending & SOFT_NET)
        ipintr();
#endif
    if (pending & SOFT_CLOCK)
        softclock();
}

void setsoftnet(void)
{
    COUNT(setsoftnet);
    soft_pending |= SOFT_NET;
}

/* Call f(argument) in `count` ticks, from the soft interrupt. */
void timeout(void (*f)(void *), void *argument, int count)
{
    int s = splclock();
    struct callout *c = callouts;

    COUNT(timeout);
    while (c->left)
        c++;
    c->f = f;
    c->argument = argument;
    c->left = count + 1;
    splx(s);
}

static void end_pause(void *task)
{
    COUNT(end_pause);
    wakeup(task);
}

/* Sleep for `count` ticks of the clock. */
void pause_ticks(int count)
{
    int s = splnet();

    COUNT(pause_ticks);
    timeout(end_pause, current, count);
    sleep(current);
    splx(s);
}
