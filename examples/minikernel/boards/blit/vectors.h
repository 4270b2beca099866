| Autovectors: 1 is the vertical blank, 5 the 6850 to the host.
        .rept   25
        .long   panic
        .endr
        .long   irq1
        .rept   3
        .long   panic
        .endr
        .long   irq5
        .rept   226
        .long   panic
        .endr
