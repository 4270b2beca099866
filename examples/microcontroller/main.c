/* main.c: do the work once, then serve what the event RAM has kept. */
#include "board.h"
#include "kprof_ram.h"
#include "work.h"

int main(void)
{
    board_start();
    kprof_ram_start(KPROF_STOP_WHEN_FULL);
    work();
    for (;;)
        kprof_ram_serve(board_name);
}
