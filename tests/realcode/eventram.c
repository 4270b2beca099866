/* Memory for triggers to hit: a section that the linker puts where --base says. */
__asm__(".section .eventram,\"aw\",%nobits\n"
        "\t.globl eventram\n"
        "eventram:\n"
        "\t.space 0x20000\n"
        "\t.previous");
