/*
 * Counts, in one run, the events of kprof's triggers (target soft) and the calls of gcc's own hooks
 * (-finstrument-functions). At the end it writes to $KPROF_COUNTS, one line each:
 *
 *     tag T N          the event T was seen N times
 *     in A N, out A N  gcc's hook was called N times for the function at address A
 *     nesting U O L    calls unwound past, exits without an entry, calls open at the end
 */
#include <stdio.h>
#include <stdlib.h>

#define PLAIN __attribute__((no_instrument_function))
#define SLOTS 65536u
#define DEEP 1000000u

static unsigned long tags[SLOTS];
static struct { void *address; unsigned long in, out; } hooked[SLOTS];
static unsigned short open_calls[DEEP];
static unsigned long depth, unwound, orphans;
static int finished;

PLAIN void kprof_event(unsigned tag)
{
    unsigned long at;
    if (finished)
        return;
    tags[tag & (SLOTS - 1u)]++;
    if ((tag & 1u) == 0) {
        if (depth == DEEP)
            abort();
        open_calls[depth++] = (unsigned short)tag;
        return;
    }
    for (at = depth; at != 0 && open_calls[at - 1] != tag - 1u; at--)
        continue;
    if (at == 0) {
        orphans++;
    } else {
        unwound += depth - at;
        depth = at - 1;
    }
}

PLAIN static unsigned slot(void *address)
{
    unsigned at = (unsigned)((unsigned long)address * 2654435761ul >> 8) % SLOTS;
    while (hooked[at].address != 0 && hooked[at].address != address)
        at = (at + 1) % SLOTS;
    hooked[at].address = address;
    return at;
}

PLAIN void __cyg_profile_func_enter(void *function, void *site)
{
    (void)site;
    if (!finished)
        hooked[slot(function)].in++;
}

PLAIN void __cyg_profile_func_exit(void *function, void *site)
{
    (void)site;
    if (!finished)
        hooked[slot(function)].out++;
}

PLAIN __attribute__((destructor)) static void write_counts(void)
{
    const char *path = getenv("KPROF_COUNTS");
    FILE *file;
    unsigned at;
    finished = 1;
    if (path == 0 || (file = fopen(path, "w")) == 0)
        return;
    for (at = 0; at < SLOTS; at++)
        if (tags[at])
            fprintf(file, "tag %u %lu\n", at, tags[at]);
    for (at = 0; at < SLOTS; at++)
        if (hooked[at].address) {
            fprintf(file, "in %lx %lu\n", (unsigned long)hooked[at].address, hooked[at].in);
            fprintf(file, "out %lx %lu\n", (unsigned long)hooked[at].address, hooked[at].out);
        }
    fprintf(file, "nesting %lu %lu %lu\n", unwound, orphans, depth);
    fclose(file);
}
