| boot.S: this kernel is too large for the EPROM: it is loaded straight into RAM, which only a simulated
| board can do. The reset vectors in the EPROM lead here.

        .file   "boot.S"
        .section .boot,"ax"
        .globl  boot
boot:   move.w  #0x2700,%sr
        lea     __kernel_end,%a1
        jmp     start

        .text
| u32 copy_sum(const void *from, void *to, int length): copy, and add up what is copied as the Internet
| checksum does: 32-bit words with the carry brought round, folded to 16 bits; an odd byte counts as
| the upper one of a word.
        .globl  copy_sum
copy_sum:
        movem.l %d2-%d3,-(%sp)
        move.l  12(%sp),%a0
        move.l  16(%sp),%a1
        move.l  20(%sp),%d1
        moveq   #0,%d0
        move.l  %d1,%d3
        lsr.l   #2,%d3
        bra     2f
1:      move.l  (%a0)+,%d2
        move.l  %d2,(%a1)+
        add.l   %d2,%d0
        bcc     2f
        addq.l  #1,%d0
2:      dbra    %d3,1b
        btst    #1,%d1
        beq     3f
        moveq   #0,%d2
        move.w  (%a0)+,%d2
        move.w  %d2,(%a1)+
        bsr     5f
3:      btst    #0,%d1
        beq     4f
        moveq   #0,%d2
        move.b  (%a0),%d2
        move.b  %d2,(%a1)
        lsl.w   #8,%d2
        bsr     5f
4:      move.l  %d0,%d1
        swap    %d1
        andi.l  #0xFFFF,%d0
        andi.l  #0xFFFF,%d1
        add.l   %d1,%d0
        move.l  %d0,%d1
        swap    %d1
        add.w   %d1,%d0
        andi.l  #0xFFFF,%d0
        movem.l (%sp)+,%d2-%d3
        rts
5:      add.l   %d2,%d0
        bcc     6f
        addq.l  #1,%d0
6:      rts

        .section .note.GNU-stack,"",@progbits
