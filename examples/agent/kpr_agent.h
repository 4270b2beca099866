/* kpr_agent.h: the board's end of KPR1, which serves an event RAM over a serial line.
 *
 * A board supplies kpr_getc, kpr_putc and kpr_ram, fills in a struct kpr_info and calls kpr_agent.
 * C89, no library, no heap, no timer, no interrupt. README.md ports it in ten lines.
 */
#ifndef KPR_AGENT_H
#define KPR_AGENT_H

#define KPR_FULL 0x01UL    /* the event RAM was filled (the overflow LED is on) */
#define KPR_RUNNING 0x02UL /* events are still being stored */
#define KPR_UNKNOWN 0xFFFFFFFFUL

#ifdef __cplusplus
extern "C" {
#endif

struct kpr_info {
    const char *name;       /* of the board, 0 to 32 ASCII characters */
    unsigned long clock_hz; /* ticks of the time counter in a second */
    unsigned long capacity; /* records in the event RAM */
    unsigned long valid;    /* records stored by the last run, or KPR_UNKNOWN */
    unsigned long flags;    /* KPR_FULL, KPR_RUNNING */

    /* The three below may be left out (null). */

    /* change == 0: the rate that would be set for `rate`, or 0 if that cannot be done.
     * change == 1: wait until the last character has left, then set it; rate 0 is the base rate. */
    unsigned long (*baud)(unsigned long rate, int change);
    /* Not 0 when a received character is waiting; lets the host stop a transfer. */
    int (*poll)(void);
    /* The number of the run that is in the RAM: another one after each start of a run; 0: unknown.
     * Called for each request for information, so a run that starts meanwhile shows. */
    unsigned long (*run)(void);
};

/* Supplied by the board. */
int kpr_getc(void);   /* the next received byte, 0 to 255, blocking; below 0: the line is gone */
void kpr_putc(int c); /* send the byte c, blocking */
/* Byte 0 to 4 of a record: time 23-16, 15-8, 7-0, tag 15-8, 7-0. */
unsigned char kpr_ram(unsigned long record, int byte);

/* Serve the host until it sends Q, or until kpr_getc returns less than 0. */
void kpr_agent(const struct kpr_info *info);

#ifdef __cplusplus
}
#endif

#endif
