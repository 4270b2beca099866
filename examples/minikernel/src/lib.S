| lib.S: what cannot be said in C. Nothing here has a trigger.

        .file   "lib.S"
        .section .vectors,"a"
        .globl  vectors
vectors:
#ifdef OWN_VECTORS
#include "vectors.h"
#else
        .rept   28
        .long   panic
        .endr
        .long   irq4                    | autovector 4: the Ethernet controller
        .long   irq5                    | autovector 5: the DUART
        .rept   226
        .long   panic
        .endr
#endif

        .text
| The boot code comes here when the kernel is in RAM; a1 points behind it.
        .globl  start
start:  lea     __bss_end,%a2
1:      clr.l   (%a1)+
        cmpa.l  %a2,%a1
        bcs     1b
        lea     vectors,%a0
#ifdef NO_VBR
        suba.l  %a1,%a1                 | a 68000 has its vectors at 0, in RAM here
        move.w  #255,%d0
1:      move.l  (%a0)+,(%a1)+
        dbra    %d0,1b
#else
        movec   %a0,%vbr                | exceptions must not read the EPROM: they would be events
#endif
        jmp     kernel_main

#ifdef OWN_CLOCK
irq1:   movem.l %d0-%d1/%a0-%a1,-(%sp)
        jsr     vec2
        bra     interrupt_exit
#endif
#ifndef OWN_VECTORS
irq4:   movem.l %d0-%d1/%a0-%a1,-(%sp)
        jsr     vec1
        bra     interrupt_exit
#endif

irq5:   movem.l %d0-%d1/%a0-%a1,-(%sp)
        jsr     vec0

| An interrupt of level 0 code runs what it left for the soft interrupt, at level 1.
interrupt_exit:
        move.w  16(%sp),%d0
        andi.w  #0x0700,%d0
        bne     2f
1:      tst.l   soft_pending
        beq     2f
        move.w  #0x2100,%sr
        jsr     softint
        move.w  #0x2700,%sr
        bra     1b
2:      movem.l (%sp)+,%d0-%d1/%a0-%a1
        rte

panic:  stop    #0x2700
        bra     panic

| int spl_raise(int sr): raise the interrupt mask to that of sr, never lower it; the old sr.
        .globl  spl_raise
spl_raise:
        moveq   #0,%d0
        move.w  %sr,%d0
        move.l  4(%sp),%d1
        move.w  %d1,%a0
        eor.w   %d0,%d1                 | equal in all but the mask: compare the masks
        andi.w  #0x0700,%d1
        beq     1f
        move.w  %a0,%d1
        andi.w  #0x0700,%d1
        move.w  %d0,%a1
        andi.w  #0x0700,%d0
        cmp.w   %d0,%d1
        bls     2f
        move.w  %a0,%d1
        move.w  %d1,%sr
2:      moveq   #0,%d0
        move.w  %a1,%d0
1:      rts

| void spl_set(int sr): set the mask; what the soft interrupt has been asked for runs first.
        .globl  spl_set
spl_set:
        move.l  4(%sp),%d0
        move.w  %d0,%d1
        andi.w  #0x0700,%d1
        bne     2f
1:      tst.l   soft_pending
        beq     2f
        move.w  #0x2100,%sr
        jsr     softint
        move.w  #0x2700,%sr
        bra     1b
2:      move.l  4(%sp),%d0
        move.w  %d0,%sr
        rts

| void ctxsw(u32 **save, u32 **load): leave this stack, continue on the other.
        .globl  ctxsw
ctxsw:  move.l  4(%sp),%a0
        move.l  8(%sp),%a1
        movem.l %d2-%d7/%a2-%a6,-(%sp)
        move.l  %sp,(%a0)
        move.l  (%a1),%sp
        movem.l (%sp)+,%d2-%d7/%a2-%a6
        rts

| A new task begins here, its body in a2.
        .globl  task_start
task_start:
        move.w  #0x2000,%sr
        jsr     (%a2)
        bra     panic

| void wait_interrupt(void): let interrupts in and sleep until one has been served.
        .globl  wait_interrupt
wait_interrupt:
        stop    #0x2000
        rts

| void copy(const void *from, void *to, int length)
        .globl  copy
copy:   move.l  4(%sp),%a0
        move.l  8(%sp),%a1
        move.l  12(%sp),%d0
        move.l  %d0,%d1
        lsr.l   #2,%d1
        bra     2f
1:      move.l  (%a0)+,(%a1)+
2:      dbra    %d1,1b
        moveq   #3,%d1
        and.l   %d0,%d1
        bra     4f
3:      move.b  (%a0)+,(%a1)+
4:      dbra    %d1,3b
        rts

        .section .note.GNU-stack,"",@progbits
