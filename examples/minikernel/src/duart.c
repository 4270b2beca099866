/* duart.c: the console on channel A, the upload line on channel B, both interrupt driven. */
#include "kernel.h"

#define RING 256

static char ring[RING];
static int ring_in, ring_out;
int duart_mask;

void duart_init(void)
{
    DREG(CH_A + D_SR) = 0xEE; /* 115200 baud from the external clock */
    DREG(CH_B + D_SR) = 0xEE;
    DREG(CH_A + D_CR) = 0x05; /* transmitter and receiver on */
    DREG(CH_B + D_CR) = 0x05;
#ifdef D_VECTOR
    DREG(12) = D_VECTOR;
#endif
    duart_mask = ISR_COUNTER | ISR_RXA | ISR_RXB;
    DREG(D_ISR) = duart_mask;
}

/* Level 5: a byte has come, or the console can take one. */
void duartint(int status)
{
    COUNT(duartint);
    if (status & ISR_RXA)
        monitor_line(CH_A, DREG(CH_A + D_HR));
    if (status & ISR_RXB)
        monitor_line(CH_B, DREG(CH_B + D_HR));
    if (status & ISR_TXA) {
        if (ring_out != ring_in) {
            DREG(CH_A + D_HR) = ring[ring_out];
            ring_out = (ring_out + 1) % RING;
        } else {
            duart_mask &= ~ISR_TXA;
            DREG(D_ISR) = duart_mask;
        }
    }
}

/* Queue one character for the console; it is lost if the ring is full. */
void cnputc(int c)
{
    int s = splclock();

    COUNT(cnputc);
    if ((ring_in + 1) % RING != ring_out) {
        ring[ring_in] = c;
        ring_in = (ring_in + 1) % RING;
        duart_mask |= ISR_TXA;
        DREG(D_ISR) = duart_mask;
    }
    splx(s);
}

void cnputs(const char *text)
{
    COUNT(cnputs);
    while (*text)
        cnputc(*text++);
}

/* The decimal digits of a number, most significant first. */
void printn(char **to, u32 value)
{
    COUNT(printn);
    if (value >= 10)
        printn(to, value / 10);
    *(*to)++ = '0' + value % 10;
}

void cnputn(u32 value)
{
    char digits[12], *end = digits;

    COUNT(cnputn);
    printn(&end, value);
    *end = 0;
    cnputs(digits);
}
