/* stm32vldiscovery.c: an STM32F100 from reset to main, and its USART 1 on PA9 (out) and PA10 (in).
 *
 * Register addresses: ST, reference manual RM0041. The processor stays at the 8 MHz that it has after
 * reset.
 */
#include "board.h"
#include "kpr_agent.h"

#define REG(at) (*(volatile unsigned long *)(at))
#define RCC_APB2ENR REG(0x40021018)
#define GPIOA_CRH REG(0x40010804)
#define USART_SR REG(0x40013800)
#define USART_DR REG(0x40013804)
#define USART_BRR REG(0x40013808)
#define USART_CR1 REG(0x4001380C)

const char board_name[] = "STM32VLDISCOVERY";

extern unsigned long data_from[], data_begin[], data_end[], bss_begin[], bss_end[], stack_top[];
int main(void);

void reset(void)
{
    volatile unsigned long *from = data_from, *to; /* volatile: no call of memcpy */

    for (to = data_begin; to < data_end;)
        *to++ = *from++;
    for (to = bss_begin; to < bss_end;)
        *to++ = 0;
    main();
    for (;;)
        ;
}

static void fault(void)
{
    for (;;)
        ;
}

const void *const vectors[16] __attribute__((section(".vectors"), used)) = {
    stack_top, (const void *)reset, (const void *)fault, (const void *)fault
};

void board_start(void)
{
    RCC_APB2ENR |= 1UL << 14 | 1UL << 2;                      /* USART 1 and port A have clocks */
    GPIOA_CRH = (GPIOA_CRH & ~0xFF0UL) | 0x4UL << 8 | 0xBUL << 4; /* PA10 input, PA9 the USART's */
    USART_BRR = (8000000UL + 57600UL) / 115200UL;
    USART_CR1 = 1UL << 13 | 1UL << 3 | 1UL << 2;              /* on, send, receive */
}

int kpr_getc(void)
{
    while (!(USART_SR & 1UL << 5))
        ;
    return (int)(USART_DR & 0xFF);
}

void kpr_putc(int c)
{
    while (!(USART_SR & 1UL << 7))
        ;
    USART_DR = (unsigned long)c;
}
