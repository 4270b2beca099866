/* work.c: a program to profile. It smooths samples, sorts them for their median, and sums them up. */
#include "work.h"

#define SAMPLES 24
#define ROUNDS 6

static int samples[SAMPLES], sorted[SAMPLES];
static unsigned long seed;

static int sample(void)
{
    seed = (seed * 1103515245UL + 12345UL) & 0x7FFFFFFFUL;
    return (int)(seed >> 16 & 0x3FF);
}

static void smooth(void)
{
    int i;

    for (i = 1; i < SAMPLES; i++)
        samples[i] = (samples[i] + 3 * samples[i - 1]) / 4;
}

static void sort(void)
{
    int i, j, value;

    for (i = 0; i < SAMPLES; i++) {
        value = samples[i];
        for (j = i; j > 0 && sorted[j - 1] > value; j--)
            sorted[j] = sorted[j - 1];
        sorted[j] = value;
    }
}

static int median(void)
{
    sort();
    return sorted[SAMPLES / 2];
}

static unsigned crc16(unsigned crc, int value)
{
    int bit;

    crc ^= (unsigned)value;
    for (bit = 0; bit < 16; bit++)
        crc = crc & 1 ? crc >> 1 ^ 0xA001U : crc >> 1;
    return crc;
}

unsigned work(void)
{
    unsigned crc = 0xFFFFU;
    int i, round;

    seed = 1;
    for (round = 0; round < ROUNDS; round++) {
        for (i = 0; i < SAMPLES; i++)
            samples[i] = sample();
        smooth();
        crc = crc16(crc, median());
    }
    return crc;
}
