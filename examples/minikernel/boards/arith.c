/* arith.c: what a 68000 and 68010 have no instruction for, and gcc calls. No triggers. */

unsigned long __mulsi3(unsigned long a, unsigned long b)
{
    unsigned long sum = 0;

    for (; b; b >>= 1, a <<= 1)
        if (b & 1)
            sum += a;
    return sum;
}

static unsigned long divide(unsigned long a, unsigned long b, int rest)
{
    unsigned long bit = 1, quotient = 0;

    while (b < a && !(b & 0x80000000UL))
        b <<= 1, bit <<= 1;
    for (; bit; bit >>= 1, b >>= 1)
        if (a >= b)
            a -= b, quotient |= bit;
    return rest ? a : quotient;
}

unsigned long __udivsi3(unsigned long a, unsigned long b)
{
    return divide(a, b, 0);
}

unsigned long __umodsi3(unsigned long a, unsigned long b)
{
    return divide(a, b, 1);
}

static unsigned long sized(long a)
{
    return a < 0 ? -(unsigned long)a : (unsigned long)a;
}

long __divsi3(long a, long b)
{
    unsigned long quotient = divide(sized(a), sized(b), 0);

    return (a < 0) != (b < 0) ? -quotient : quotient;
}

long __modsi3(long a, long b)
{
    unsigned long rest = divide(sized(a), sized(b), 1);

    return a < 0 ? -rest : rest;
}
