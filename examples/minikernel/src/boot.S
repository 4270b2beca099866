| boot.S: in the EPROM. Copies the kernel to RAM and starts it there; after that the EPROM is only read
| by triggers.

        .file   "boot.S"
        .section .boot,"ax"
        .long   __stack_top
        .long   boot
        .rept   254                     | nothing may happen before the kernel has its own vectors
        .long   halt
        .endr

        .globl  boot
boot:   move.w  #0x2700,%sr
        lea     __kernel_load,%a0
        lea     __kernel_start,%a1
        lea     __kernel_end,%a2
1:      move.l  (%a0)+,(%a1)+
        cmpa.l  %a2,%a1
        bcs     1b
        jmp     start

halt:   stop    #0x2700
        bra     halt

        .section .note.GNU-stack,"",@progbits
