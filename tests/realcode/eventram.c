/* Memory for triggers to hit: a section that the linker puts where --base says. */
__attribute__((section(".eventram,\"aw\",@nobits#"), used)) volatile unsigned char eventram[0x20000];
