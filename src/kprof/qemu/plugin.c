/* plugin.c: the Profiler as a TCG plugin of QEMU, for `kprof qemu`.
 *
 * It recognises triggers when code is translated, so that only they cost: their tags and times go to a
 * file descriptor, 8 bytes an event, time << 16 | tag, little-endian as the host. The time is QEMU's virtual
 * time in ns: with -icount, instructions of 2^shift ns, and what the clock was put forward while the
 * CPU waited. Before every instruction a counter is incremented.
 *
 * What is declared here is version 1 of the plugin API (QEMU 6.0 to 8.2), and four names that QEMU
 * exports for its own modules: current_cpu, icount_get_raw, icount_to_ns, qemu_clock_get_ns. The clock
 * cannot be read while a CPU is within a block of translated code; with current_cpu null it gives its
 * value as of the beginning of the run of blocks, and so does the count of instructions: their
 * difference is what the clock was put forward by.
 *
 * Arguments: fd=N, tags=FILE (65,536 bytes, not 0 where the tag is a trigger's), base=N, shift=N.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef uint64_t qemu_plugin_id_t;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
typedef struct {
    const char *target_name;
    struct {
        int min, cur;
    } version;
    bool system_emulation;
    union {
        struct {
            int smp_vcpus, max_vcpus;
        } system;
    };
} qemu_info_t;
typedef void (*tb_callback)(qemu_plugin_id_t, struct qemu_plugin_tb *);
typedef void (*insn_callback)(unsigned, void *);
typedef void (*memory_callback)(unsigned, uint32_t, uint64_t, void *);
typedef void (*exit_callback)(qemu_plugin_id_t, void *);

extern void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t, tb_callback);
extern void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *, insn_callback, int, void *);
extern void qemu_plugin_register_vcpu_insn_exec_inline(struct qemu_plugin_insn *, int, void *, uint64_t);
extern void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *, memory_callback, int, int, void *);
extern void qemu_plugin_register_atexit_cb(qemu_plugin_id_t, exit_callback, void *);
extern size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *);
extern struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *, size_t);
extern const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *);
extern size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *);

#define NO_REGISTERS 0
#define ADD_U64 0
#define READS_WRITES 3 /* QEMU 7.2 takes the one for the other */
#define VIRTUAL_CLOCK 1
#define TAGS 65536
#define EVENTS 4096

int qemu_plugin_version = 1;

static int64_t (*icount_get_raw)(void), (*icount_to_ns)(int64_t), (*qemu_clock_get_ns)(int);
static void **current_cpu; /* of the one thread that runs CPUs */
static uint64_t executed;
static uint64_t base;
static int shift, out = -1;
static unsigned char known[TAGS];
static uint64_t events[EVENTS];
static int stored;
static enum { M68K, AARCH64, RISCV } machine;

static void flush(void)
{
    const char *from = (const char *)events;
    size_t left = stored * sizeof *events;

    while (left > 0) {
        ssize_t done = write(out, from, left);

        if (done <= 0)
            break; /* nobody reads any more */
        from += done;
        left -= done;
    }
    stored = 0;
}

static void fire(unsigned tag)
{
    void *cpu;
    int64_t put_forward;

    if (!current_cpu)
        current_cpu = dlsym(RTLD_DEFAULT, "current_cpu");
    cpu = *current_cpu;
    *current_cpu = NULL;
    put_forward = qemu_clock_get_ns(VIRTUAL_CLOCK) - icount_to_ns(icount_get_raw());
    *current_cpu = cpu;
    events[stored++] = (uint64_t)(icount_to_ns(executed) + put_forward) << 16 | tag;
    if (stored == EVENTS)
        flush();
}

static void on_trigger(unsigned cpu, void *tag)
{
    (void)cpu;
    fire((uintptr_t)tag);
}

/* The tag of an address, or -1. */
static int tag_of(uint64_t address)
{
    uint64_t tag = (address - base) >> shift;

    return address >= base && tag < TAGS && tag << shift == address - base && known[tag] ? (int)tag : -1;
}

static void on_read(unsigned cpu, uint32_t info, uint64_t address, void *unused)
{
    int tag = tag_of(address);

    (void)cpu;
    (void)info;
    (void)unused;
    if (tag >= 0)
        fire(tag);
}

static void look_at(struct qemu_plugin_insn *insn)
{
    const unsigned char *code = qemu_plugin_insn_data(insn);
    size_t size = qemu_plugin_insn_size(insn);
    uint32_t word;
    int tag = -1;

    switch (machine) {
    case M68K: /* tst.b of an absolute address, short or long, or indexed by a register (task marks) */
        if (size == 4 && code[0] == 0x4A && code[1] == 0x38)
            tag = tag_of((uint32_t)(int16_t)(code[2] << 8 | code[3]));
        else if (size == 6 && code[0] == 0x4A && code[1] == 0x39)
            tag = tag_of((uint32_t)code[2] << 24 | code[3] << 16 | code[4] << 8 | code[5]);
        else if (size >= 6 && code[0] == 0x4A && code[1] == 0x30 && code[2] & 1 && code[3] & 0x80)
            qemu_plugin_register_vcpu_mem_cb(insn, on_read, NO_REGISTERS, READS_WRITES, NULL);
        if (tag >= 0)
            qemu_plugin_register_vcpu_insn_exec_cb(insn, on_trigger, NO_REGISTERS,
                                                   (void *)(uintptr_t)tag);
        break;
    case AARCH64: /* ldrb wzr,[xN] */
    case RISCV:   /* lbu zero,0(xN) */
        if (size != 4)
            break;
        memcpy(&word, code, 4);
        if (machine == AARCH64 ? (word & 0xFFFFFC1F) == 0x3940001F : (word & 0xFFF07FFF) == 0x00004003)
            qemu_plugin_register_vcpu_mem_cb(insn, on_read, NO_REGISTERS, READS_WRITES, NULL);
        break;
    }
}

static void on_translation(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
    size_t i, count = qemu_plugin_tb_n_insns(tb);

    (void)id;
    for (i = 0; i < count; i++) {
        struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);

        qemu_plugin_register_vcpu_insn_exec_inline(insn, ADD_U64, &executed, 1);
        look_at(insn);
    }
}

static void at_end(qemu_plugin_id_t id, void *unused)
{
    (void)id;
    (void)unused;
    flush();
}

static int refuse(const char *why, const char *what)
{
    fprintf(stderr, "kprof: this QEMU %s%s\n", why, what);
    return -1;
}

int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv)
{
    FILE *tags = NULL;
    int i;

    if (!strcmp(info->target_name, "m68k"))
        machine = M68K;
    else if (!strcmp(info->target_name, "aarch64"))
        machine = AARCH64;
    else if (!strncmp(info->target_name, "riscv", 5))
        machine = RISCV;
    else
        return refuse("emulates a processor whose triggers are not known here: ", info->target_name);
    if (!info->system_emulation)
        return refuse("runs programs, not systems; expected qemu-system-", info->target_name);
    if (info->system.smp_vcpus > 1)
        return refuse("emulates several CPUs; expected one", " (-smp 1)");
    icount_get_raw = dlsym(RTLD_DEFAULT, "icount_get_raw");
    icount_to_ns = dlsym(RTLD_DEFAULT, "icount_to_ns");
    qemu_clock_get_ns = dlsym(RTLD_DEFAULT, "qemu_clock_get_ns");
    if (!icount_get_raw || !icount_to_ns || !qemu_clock_get_ns || !dlsym(RTLD_DEFAULT, "current_cpu"))
        return refuse("does not export its clock; expected one that loads modules", "");
    for (i = 0; i < argc; i++) {
        if (!strncmp(argv[i], "fd=", 3))
            out = atoi(argv[i] + 3);
        else if (!strncmp(argv[i], "tags=", 5))
            tags = fopen(argv[i] + 5, "rb");
        else if (!strncmp(argv[i], "base=", 5))
            base = strtoull(argv[i] + 5, NULL, 0);
        else if (!strncmp(argv[i], "shift=", 6))
            shift = atoi(argv[i] + 6);
    }
    if (out < 0 || !tags || fread(known, 1, TAGS, tags) != TAGS)
        return refuse("was not started by kprof qemu", "");
    fclose(tags);
    qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
    qemu_plugin_register_atexit_cb(id, at_end, NULL);
    return 0;
}
