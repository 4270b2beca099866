/* main.c: the kernel starts, in RAM. */
#include "kernel.h"

void kernel_main(void)
{
    duart_init();
    mbuf_init();
    le_init();
    start_tasks();
    clock_init();
    cnputs("minikernel on MD20\r\n");
    scheduler();
}
