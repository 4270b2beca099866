/* acia.c: the Blit's console on a 6850, interrupt driven, and its clock, the vertical blank. */
#include "kernel.h"

#define RING 256

extern void clock(void);
static char ring[RING];
static int ring_in, ring_out;

void duart_init(void)
{
    ACIA_STATUS = ACIA_RESET;
    ACIA_STATUS = ACIA_ON;
}

void clock_init(void)
{
    VBLANK_ACK = 0;
}

/* Level 1, 60 times a second. */
void vec2(void)
{
    COUNT(vec2);
    VBLANK_ACK = 0;
    clock();
}

/* Level 5: a byte has come and is echoed, or the console can take one. */
void vec0(void)
{
    int status = ACIA_STATUS;

    COUNT(vec0);
    if (status & ACIA_RX)
        ACIA_DATA = ACIA_DATA;
    else if (status & ACIA_TX) {
        if (ring_out != ring_in) {
            ACIA_DATA = ring[ring_out];
            ring_out = (ring_out + 1) % RING;
        } else
            ACIA_STATUS = ACIA_ON;
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
        ACIA_STATUS = ACIA_TXON;
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
