/* spl.c: raising the interrupt mask. splx lowers it again (a macro: no function, no trigger). */
#include "kernel.h"

int splnet(void)
{
    COUNT(splnet);
    return spl_raise(SR_NET);
}

int splimp(void)
{
    COUNT(splimp);
    return spl_raise(SR_IMP);
}

int splclock(void)
{
    COUNT(splclock);
    return spl_raise(SR_CLOCK);
}

int splhigh(void)
{
    COUNT(splhigh);
    return spl_raise(SR_HIGH);
}
