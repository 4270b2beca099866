| The DUART gives the vector of its IVR, 0x45; all user vectors lead to its handler.
        .rept   64
        .long   panic
        .endr
        .rept   192
        .long   irq5
        .endr
