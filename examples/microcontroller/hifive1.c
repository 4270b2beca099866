/* hifive1.c: a SiFive FE310 from reset to main, and its UART 0 on pins 16 (in) and 17 (out).
 *
 * Register addresses: SiFive, FE310-G002 manual. The processor gets the board's 16 MHz crystal.
 */
#include "board.h"
#include "kpr_agent.h"

#define REG(at) (*(volatile unsigned int *)(at))
#define PRCI_HFXOSCCFG REG(0x10008004)
#define PRCI_PLLCFG REG(0x10008008)
#define GPIO_IOF_EN REG(0x10012038)
#define GPIO_IOF_SEL REG(0x1001203C)
#define UART_TXDATA REG(0x10013000)
#define UART_RXDATA REG(0x10013004)
#define UART_TXCTRL REG(0x10013008)
#define UART_RXCTRL REG(0x1001300C)
#define UART_DIV REG(0x10013018)

const char board_name[] = "HiFive1";

extern unsigned int data_from[], data_begin[], data_end[], bss_begin[], bss_end[];
int main(void);
void reset(void);

__asm__ (".section .reset, \"ax\"\n"
         ".globl _start\n"
         "_start:\n"
         "        .option push\n"
         "        .option norelax\n" /* else the linker would make it relative to itself */
         "        la gp, __global_pointer$\n"
         "        .option pop\n"
         "        la sp, stack_top\n"
         "        j reset\n"
         ".text\n");

void reset(void)
{
    volatile unsigned int *from = data_from, *to; /* volatile: no call of memcpy */

    for (to = data_begin; to < data_end;)
        *to++ = *from++;
    for (to = bss_begin; to < bss_end;)
        *to++ = 0;
    main();
    for (;;)
        ;
}

void board_start(void)
{
    PRCI_HFXOSCCFG = 1U << 30; /* the crystal; bit 31: it is steady */
    while (!(PRCI_HFXOSCCFG >> 31))
        ;
    PRCI_PLLCFG = 1U << 18 | 1U << 17 | 1U << 16; /* it is the clock, past the PLL */
    GPIO_IOF_SEL &= ~(3U << 16);
    GPIO_IOF_EN |= 3U << 16;
    UART_DIV = 16000000U / 115200U - 1U;
    UART_TXCTRL = 1;
    UART_RXCTRL = 1;
}

int kpr_getc(void)
{
    unsigned int got;

    do
        got = UART_RXDATA;
    while (got >> 31);
    return (int)(got & 0xFF);
}

void kpr_putc(int c)
{
    while (UART_TXDATA >> 31)
        ;
    UART_TXDATA = (unsigned int)c;
}
