/* kprof_ram.c: the event RAM in software. kprof_ram.h says how to use it.
 *
 * The records must be in the order of their times, also when an interrupt comes between any two
 * instructions. With interrupts masked that is plain. Where they are not, the place is taken by a
 * compare-and-swap that fails if any event was stored since the clock was read; then the clock is
 * read again.
 */
#define _POSIX_C_SOURCE 200112L
#include "kprof_ram.h"

#define MASK ((unsigned long)KPROF_RAM_EVENTS - 1)
typedef char kprof_events_must_be_a_power_of_two[((KPROF_RAM_EVENTS) & MASK) == 0 ? 1 : -1];

#if defined KPROF_LOCK
/* the board's own */
#elif defined KPROF_HOST
#define KPROF_SWAP 1
#elif defined __m68k__
#define KPROF_LOCK(s) __asm__ volatile ("move.w %%sr,%0\n\tori.w #0x700,%%sr" : "=d"(s) : : "memory")
#define KPROF_UNLOCK(s) __asm__ volatile ("move.w %0,%%sr" : : "d"(s) : "memory")
#elif defined __ARM_ARCH_PROFILE && __ARM_ARCH_PROFILE == 'M'
#define KPROF_LOCK(s) __asm__ volatile ("mrs %0, primask\n\tcpsid i" : "=r"(s) : : "memory")
#define KPROF_UNLOCK(s) __asm__ volatile ("msr primask, %0" : : "r"(s) : "memory")
#else
#error "define KPROF_LOCK(s) and KPROF_UNLOCK(s), which mask and restore interrupts"
#endif

#ifdef KPROF_HOST

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

__extension__ typedef unsigned long long u64;

/* time << 16 | tag: 48 bits of time do not wrap, and one store is an event */
static u64 first_ram[KPROF_RAM_EVENTS];
static u64 *ram = first_ram;
static unsigned long size = KPROF_RAM_EVENTS;
static u64 start_ns, start_clock;

static u64 kprof_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (u64)now.tv_sec * 1000000000UL + (u64)now.tv_nsec;
}

#if defined KPROF_TSC && defined __x86_64__
#define CLOCK() ((u64)__builtin_ia32_rdtsc())
#else
#define CLOCK() kprof_now_ns()
#endif

#else

#ifndef KPROF_TIME
#error "define KPROF_TIME(), a free-running counter of at least 24 bits"
#endif
#define size ((unsigned long)KPROF_RAM_EVENTS)
static unsigned char ram[KPROF_RAM_EVENTS][5];

#endif

static volatile unsigned long next;                    /* events stored since the start */
static volatile unsigned long limit = KPROF_RAM_EVENTS; /* store while next is below it */
static volatile unsigned long refused;
static int keep;

void kprof_event(unsigned tag)
{
#ifdef KPROF_SWAP
    unsigned long at = __atomic_load_n(&next, __ATOMIC_ACQUIRE);
    u64 time;

    do {
        if (at >= limit) {
            refused++;
            return;
        }
        time = CLOCK() - start_clock;
    } while (!__atomic_compare_exchange_n(&next, &at, at + 1, 0, __ATOMIC_ACQ_REL,
                                          __ATOMIC_ACQUIRE));
    ram[at & (size - 1)] = time << 16 | (tag & 0xFFFFU);
#else
    unsigned long saved, time;
    unsigned char *record;

    KPROF_LOCK(saved);
    if (next >= limit) {
        refused++;
    } else {
        time = (unsigned long)KPROF_TIME();
        record = ram[next++ & MASK];
        record[0] = (unsigned char)(time >> 16);
        record[1] = (unsigned char)(time >> 8);
        record[2] = (unsigned char)time;
        record[3] = (unsigned char)(tag >> 8);
        record[4] = (unsigned char)tag;
    }
    KPROF_UNLOCK(saved);
#endif
}

void kprof_ram_start(int mode)
{
    limit = 0;
    next = 0;
    refused = 0;
    keep = mode == KPROF_KEEP_LAST;
    limit = keep ? ~0UL : size;
}

void kprof_ram_stop(void)
{
    limit = 0;
}

unsigned long kprof_ram_valid(void)
{
    return next < size ? next : size;
}

unsigned long kprof_ram_lost(void)
{
    return next - kprof_ram_valid() + refused;
}

int kprof_ram_full(void)
{
    return next >= size;
}

unsigned char kprof_ram_byte(unsigned long record, int byte)
{
    unsigned long at = (next > size ? next + record : record) & (size - 1);
#ifdef KPROF_HOST
    return (unsigned char)(ram[at] >> (8 * (4 - byte)));
#else
    return ram[at][byte];
#endif
}

#ifdef KPROF_HOST

#define HEADER 4096
#define CHUNK_LOG2 24
#define PATH_ROOM 4096

static long owner;
static unsigned long crc_table[256];

static unsigned long kprof_crc32(unsigned long crc, const unsigned char *data, size_t n)
{
    crc ^= 0xFFFFFFFFUL;
    while (n--)
        crc = crc_table[(crc ^ *data++) & 255] ^ crc >> 8;
    return crc ^ 0xFFFFFFFFUL;
}

static void kprof_put(unsigned char *to, u64 value, int bytes)
{
    for (; bytes--; value >>= 8)
        *to++ = (unsigned char)value;
}

/* The next at most 1024 of `count` events, from event `done` on; how many they are. */
static unsigned long kprof_part(unsigned char *part, unsigned long done, unsigned long count)
{
    unsigned long i, n = count - done < 1024 ? count - done : 1024, first = next > size ? next : 0;

    for (i = 0; i < n; i++)
        kprof_put(part + 8 * i, ram[(first + done + i) & (size - 1)], 8);
    return n;
}

/* From the first byte to the last, without going back: also into a pipe. */
static int kprof_write_events(FILE *file, unsigned long count)
{
    unsigned char header[HEADER], part[8 * 1024], sums[4 * 1024];
    const char *metadata = "{\"board\": \"kprof_ram on a host\", \"valid_from\": \"the event RAM's own count\"}";
    unsigned long n, crc = 0, chunks = 0, done = 0;
    u64 hz = 1000000000UL, denominator = 1, elapsed = kprof_now_ns() - start_ns;

#if defined KPROF_TSC && defined __x86_64__
    while (elapsed < 5000000UL) /* too short to know the counter's rate from */
        elapsed = kprof_now_ns() - start_ns;
    hz = (u64)((double)(CLOCK() - start_clock) / (double)elapsed * 1e9);
#endif
    while (done < count) {
        n = kprof_part(part, done, count);
        crc = kprof_crc32(crc, part, 8 * n);
        done += n;
        if (done == count || (done & ((1UL << (CHUNK_LOG2 - 3)) - 1)) == 0) {
            if (chunks == sizeof sums / 4)
                return -1;
            kprof_put(sums + 4 * chunks++, crc, 4);
            crc = 0;
        }
    }
    memset(header, 0, sizeof header);
    memcpy(header, "\211KPD\r\n\032\n\1\0\0\0", 12);
    kprof_put(header + 12, HEADER, 4);
    kprof_put(header + 16, 3, 2);
    kprof_put(header + 18, 8, 2);
    kprof_put(header + 20, 48, 1);
    kprof_put(header + 21, 16, 1);
    kprof_put(header + 22, 16U | (kprof_ram_full() ? 1U : 0U) | (kprof_ram_lost() ? 4U : 0U), 2);
    kprof_put(header + 24, hz, 8);
    kprof_put(header + 32, denominator, 4);
    kprof_put(header + 40, count, 8);
    kprof_put(header + 48, count, 8);
    kprof_put(header + 56, (u64)count * 8, 8);
    kprof_put(header + 64, kprof_ram_lost(), 8);
    kprof_put(header + 72, (u64)time((time_t *)0) * 1000000000UL - elapsed, 8);
    kprof_put(header + 112, CHUNK_LOG2, 4);
    kprof_put(header + 116, kprof_crc32(0, sums, 4 * chunks), 4);
    kprof_put(header + 120, strlen(metadata), 4);
    memcpy(header + 128, metadata, strlen(metadata));
    crc = kprof_crc32(0, header, 124);
    kprof_put(header + 124, kprof_crc32(crc, header + 128, strlen(metadata)), 4);
    if (fwrite(header, 1, HEADER, file) != HEADER)
        return -1;
    for (done = 0; done < count; done += n) {
        n = kprof_part(part, done, count);
        if (fwrite(part, 8, n, file) != n)
            return -1;
    }
    return fwrite(sums, 4, chunks, file) == chunks ? 0 : -1;
}

static int kprof_write_into(FILE *file)
{
    unsigned long before = limit;
    int result;

    limit = 0; /* what is written must not change meanwhile */
    result = kprof_write_events(file, kprof_ram_valid());
    limit = before;
    return fclose(file) == 0 ? result : -1;
}

/* Replace a path of PATH_ROOM bytes, if it is a symbolic link, by what that leads to. */
static int kprof_follow(char *path)
{
    char to[PATH_ROOM];
    struct stat state;
    size_t folder;
    long length;
    int links;

    for (links = 0; lstat(path, &state) == 0 && S_ISLNK(state.st_mode); links++) {
        length = (long)readlink(path, to, sizeof to - 1);
        if (length <= 0 || links == 40)
            return -1;
        to[length] = 0;
        folder = to[0] != '/' && strrchr(path, '/') ? (size_t)(strrchr(path, '/') + 1 - path) : 0;
        if (folder + (size_t)length >= PATH_ROOM)
            return -1;
        memcpy(path + folder, to, (size_t)length + 1);
    }
    return 0;
}

int kprof_ram_write(const char *path)
{
    char target[PATH_ROOM], part[PATH_ROOM + 8];
    struct stat state;
    FILE *file;

    if (strlen(path) >= PATH_ROOM)
        return -1;
    if (stat(path, &state) == 0 && !S_ISREG(state.st_mode)) {
        file = fopen(path, "wb"); /* a device or a pipe stays what it is */
        return file ? kprof_write_into(file) : -1;
    }
    strcpy(target, path);
    if (kprof_follow(target) != 0)
        return -1;
    sprintf(part, "%s.part", target);
    if (lstat(part, &state) == 0 && !S_ISREG(state.st_mode))
        return -1;
    file = fopen(part, "wb");
    if (!file)
        return -1;
    if (kprof_write_into(file) == 0 && rename(part, target) == 0)
        return 0;
    remove(part);
    return -1;
}

static void kprof_at_start(void) __attribute__((constructor(101)));
static void kprof_at_end(void) __attribute__((destructor(101)));

static void kprof_at_start(void)
{
    const char *wanted = getenv("KPROF_EVENTS"), *mode = getenv("KPROF_KEEP");
    unsigned long events = wanted ? strtoul(wanted, (char **)0, 0) : 0, i, bit;
    int last = mode && strcmp(mode, "last") == 0;
    u64 *made;

    for (i = 0; i < 256; i++)
        for (crc_table[i] = i, bit = 0; bit < 8; bit++)
            crc_table[i] = crc_table[i] & 1 ? 0xEDB88320UL ^ crc_table[i] >> 1 : crc_table[i] >> 1;
    owner = (long)getpid();
    if (events && (events & (events - 1)) == 0 && (made = calloc(events, sizeof *made)) != 0) {
        ram = made;
        size = events;
    } else if (wanted) {
        fprintf(stderr, "kprof_ram: KPROF_EVENTS=%s: expected a power of two; keeping %lu\n",
                wanted, size);
    }
    if (mode && !last && strcmp(mode, "first") != 0)
        fprintf(stderr, "kprof_ram: KPROF_KEEP=%s: expected first or last; keeping the first\n", mode);
    start_ns = kprof_now_ns();
    start_clock = CLOCK();
    kprof_ram_start(last ? KPROF_KEEP_LAST : KPROF_STOP_WHEN_FULL);
}

static void kprof_at_end(void)
{
    const char *path = getenv("KPROF_OUT");
    char own[4096];

    kprof_ram_stop();
    if (!path || !*path)
        path = "kprof.bin";
    if ((long)getpid() != owner && strlen(path) < sizeof own - 24) {
        sprintf(own, "%s.%ld", path, (long)getpid()); /* a fork's events are its own */
        path = own;
    }
    if (kprof_ram_write(path) != 0)
        fprintf(stderr, "kprof_ram: %s: cannot write the capture\n", path);
}

#endif
