/* kprof_file.h: a host's capture file (KPD 1.0, docs/capture.md), a part of kprof_ram.c.
 *
 * Written from signal handlers too: system calls alone, no stdio, no heap, little stack. What was
 * stored is looked at twice, once for the checksums in the header and once to write it, so it must
 * not change between the two: a ring is copied first. An event whose place is taken but which is
 * not there yet (its thread is at it, or a signal has stopped it there) is left out and counted as
 * lost.
 */

#define KPROF_CHUNK_LOG2 24
#define KPROF_PART 1024

struct kprof_view {
    kprof_u64 *at;        /* events in the order of their times */
    unsigned long count, done;
    unsigned long number; /* of the stream */
    void *copy;           /* of a ring, to give back, or null */
    size_t mapped;        /* its bytes */
};

/* All of these belong to whoever holds kprof_writer. */
static struct kprof_view kprof_views[KPROF_MARK_COUNT];
static unsigned char kprof_header[4096 * 4];
static unsigned char kprof_part[8 * KPROF_PART];
static unsigned char kprof_sums[4 * 1024];
static char kprof_metadata[sizeof kprof_header - 128];
static unsigned long kprof_crc_table[256];
static unsigned long kprof_among_marks; /* events left out: their tags are task marks' */

static unsigned long kprof_crc32(unsigned long crc, const void *data, size_t n)
{
    const unsigned char *at = (const unsigned char *)data;

    crc ^= 0xFFFFFFFFUL;
    while (n--)
        crc = kprof_crc_table[(crc ^ *at++) & 255] ^ crc >> 8;
    return crc ^ 0xFFFFFFFFUL;
}

static void kprof_put(unsigned char *to, kprof_u64 value, int bytes)
{
    for (; bytes--; value >>= 8)
        *to++ = (unsigned char)value;
}

static int kprof_write_all(int file, const void *data, size_t n)
{
    const char *at = (const char *)data;
    ssize_t written;

    for (; n; at += written, n -= (size_t)written) {
        written = write(file, at, n);
        if (written < 0 && errno == EINTR)
            written = 0;
        else if (written <= 0)
            return -1;
    }
    return 0;
}

/* Add text to a buffer of `room` bytes, which stays a string. */
static void kprof_add(char *to, size_t room, const char *text)
{
    size_t length = strlen(to);

    while (*text && length + 1 < room)
        to[length++] = *text++;
    to[length] = 0;
}

static void kprof_add_number(char *to, size_t room, kprof_u64 value)
{
    char digits[24], *at = digits + sizeof digits - 1;

    *at = 0;
    do
        *--at = (char)('0' + (int)(value % 10));
    while ((value /= 10) != 0);
    kprof_add(to, room, at);
}

/* The events of one stream in the order of their times, until `now`; 0: done. */
static int kprof_view_of(unsigned long number, struct kprof_view *view, kprof_u64 now)
{
    struct kprof_stream *stream = &kprof_streams[number];
    unsigned long next = KPROF_LOAD(stream->next), i = 0;
    kprof_u64 event, last = kprof_run_began;
    void *copy;

    view->at = stream->ram;
    view->number = number;
    view->count = view->done = view->mapped = 0;
    view->copy = (void *)0;
    if (!KPROF_LOAD(kprof_keep)) {
        if (next > kprof_size)
            next = kprof_size;
        for (; i < next; i++) {
            event = KPROF_SLOT(stream->ram[i]);
            if (!event || event >> 16 < kprof_run_began)
                break;
        }
        view->count = i;
        if (i + 1 >= next)
            return 0;
        view->count = i = 0; /* events of a signal stand behind one that is not there yet */
    }
    if (next > kprof_size)
        i = next - kprof_size;
    view->mapped = (next - i) * sizeof(kprof_u64);
    if (!view->mapped)
        return 0;
    copy = mmap((void *)0, view->mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0);
    if (copy == MAP_FAILED)
        return -1;
    view->copy = copy;
    view->at = (kprof_u64 *)copy;
    for (; i < next; i++) {
        event = KPROF_SLOT(stream->ram[i & stream->mask]);
        if (event && event >> 16 >= last && event >> 16 <= now) {
            view->at[view->count++] = event;
            last = event >> 16;
        }
    }
    return 0;
}

/* A ring that was overwritten begins late. What others have from before that is left out: there
 * the time would seem to be theirs. */
static void kprof_begin_together(struct kprof_view *views, unsigned long n)
{
    kprof_u64 begin = 0;
    unsigned long i;

    for (i = 0; i < n; i++)
        if (KPROF_LOAD(kprof_streams[views[i].number].next) > kprof_size && views[i].count
            && views[i].at[0] >> 16 > begin)
            begin = views[i].at[0] >> 16;
    for (i = 0; i < n; i++)
        while (views[i].done < views[i].count && views[i].at[views[i].done] >> 16 < begin)
            views[i].done++;
    for (i = 0; i < n; i++) {
        views[i].at += views[i].done;
        views[i].count -= views[i].done;
        views[i].done = 0;
    }
}

struct kprof_pass {
    int file;              /* below 0: only count and sum up */
    unsigned long filled;  /* events in kprof_part */
    kprof_u64 total;
    unsigned long crc, chunks;
    int failed;
};

static void kprof_pass_on(struct kprof_pass *pass, int last)
{
    if (pass->file >= 0) {
        if (!pass->failed && kprof_write_all(pass->file, kprof_part, 8 * pass->filled) != 0)
            pass->failed = 1;
    } else {
        pass->crc = kprof_crc32(pass->crc, kprof_part, 8 * pass->filled);
        if ((last && pass->filled) || (pass->total & ((1UL << (KPROF_CHUNK_LOG2 - 3)) - 1)) == 0) {
            if (pass->chunks == sizeof kprof_sums / 4)
                pass->failed = 1;
            else if (pass->total)
                kprof_put(kprof_sums + 4 * pass->chunks++, pass->crc, 4);
            pass->crc = 0;
        }
    }
    pass->filled = 0;
}

static void kprof_emit(struct kprof_pass *pass, kprof_u64 event)
{
    if (pass->filled == KPROF_PART)
        kprof_pass_on(pass, 0);
    kprof_put(kprof_part + 8 * pass->filled++, event, 8);
    pass->total++;
}

/* The events of n streams merged by time. Of several, a task mark stands where the thread changes,
 * with the time of the event behind it. */
static void kprof_merge(struct kprof_pass *pass, struct kprof_view *views, unsigned long n)
{
    unsigned long i, best, running = KPROF_MARK_COUNT;
    kprof_u64 event, time, first, second;
    struct kprof_view *view;

    kprof_among_marks = 0;
    for (i = 0; i < n; i++)
        views[i].done = 0;
    for (;;) {
        first = second = ~(kprof_u64)0;
        for (i = best = 0; i < n; i++) {
            if (views[i].done == views[i].count)
                continue;
            time = KPROF_SLOT(views[i].at[views[i].done]) >> 16;
            if (time < first) {
                second = first;
                first = time;
                best = i;
            } else if (time < second) {
                second = time;
            }
        }
        if (first == ~(kprof_u64)0)
            break;
        view = &views[best];
        for (; view->done < view->count; view->done++) {
            event = KPROF_SLOT(view->at[view->done]);
            if (event >> 16 > second)
                break;
            if (n > 1 && (event & 0xFFFFU) - KPROF_MARK_FIRST < KPROF_MARK_COUNT) {
                kprof_among_marks++;
                continue;
            }
            if (n > 1 && running != view->number)
                kprof_emit(pass, (event >> 16) << 16 | (KPROF_MARK_FIRST + view->number));
            running = view->number;
            kprof_emit(pass, event);
        }
    }
    kprof_pass_on(pass, 1);
}

/* The name of a thread, "" where it has none of its own. `name` has room for 16. */
static void kprof_thread_name(unsigned long number, char *name)
{
    struct kprof_stream *stream = &kprof_streams[number];
    char path[64];
    long length = -1;
    int file, i;

    for (i = 0; i < 16; i++)
        name[i] = KPROF_LOAD(stream->name[i]);
    if (stream->thread && (long)getpid() == kprof_owner) { /* it may live, and have been renamed */
        strcpy(path, "/proc/self/task/");
        kprof_add_number(path, sizeof path, (kprof_u64)stream->thread);
        kprof_add(path, sizeof path, "/comm");
        file = open(path, O_RDONLY);
        if (file >= 0) {
            length = (long)read(file, name, 15);
            close(file);
        }
        if (length > 0)
            name[name[length - 1] == '\n' ? length - 1 : length] = 0;
    }
    name[15] = 0;
    if (strcmp(name, kprof_process) == 0)
        strcpy(name, stream->thread && stream->thread == kprof_owner ? "main" : "");
    for (; *name; name++)
        if (*name < ' ' || *name > '~' || *name == '"' || *name == '\\')
            *name = '?';
}

static void kprof_describe(const struct kprof_view *views, unsigned long n)
{
    const size_t room = sizeof kprof_metadata;
    char name[16], *to = kprof_metadata;
    const char *comma = "";
    unsigned long i;

    *to = 0;
    kprof_add(to, room, "{\"board\": \"kprof_ram on a host\", "
              "\"valid_from\": \"the event RAM's own count\"");
    if (n > 1) {
        kprof_add(to, room, ", \"task_marks\": {\"name\": \"thread\", \"first\": ");
        kprof_add_number(to, room, KPROF_MARK_FIRST);
        kprof_add(to, room, ", \"count\": ");
        kprof_add_number(to, room, KPROF_MARK_COUNT);
        kprof_add(to, room, "}, \"task_names\": {");
        for (i = 0; i < n; i++) {
            kprof_thread_name(views[i].number, name);
            if (!*name)
                continue;
            kprof_add(to, room, comma);
            kprof_add(to, room, "\"");
            kprof_add_number(to, room, views[i].number);
            kprof_add(to, room, "\": \"");
            kprof_add(to, room, name);
            kprof_add(to, room, "\"");
            comma = ", ";
        }
        kprof_add(to, room, "}");
    }
    kprof_add(to, room, "}");
}

#ifdef __ELF__
extern const unsigned char kprof_names_sha256[32] __attribute__((weak));
#endif

/* The header, of events whose number and checksums are known; its size. */
static size_t kprof_make_header(const struct kprof_pass *pass, kprof_u64 lost, int full)
{
    unsigned char *header = kprof_header;
    size_t length = strlen(kprof_metadata), size = length + 128 <= 4096 ? 4096 : sizeof kprof_header;
    kprof_u64 hz = 1000000000UL, elapsed = kprof_now_ns() - kprof_start_ns;
    struct timespec now;
    unsigned long crc;

#ifdef KPROF_COUNT
    while (elapsed < 5000000UL) /* too short to know the counter's rate from */
        elapsed = kprof_now_ns() - kprof_start_ns;
    hz = (kprof_u64)((double)(KPROF_NOW() - kprof_start_clock) / (double)elapsed * 1e9);
#ifdef KPROF_CLOCK_HZ
    hz = KPROF_CLOCK_HZ;
#endif
#endif
    clock_gettime(CLOCK_REALTIME, &now);
    memset(header, 0, sizeof kprof_header);
    memcpy(header, "\211KPD\r\n\032\n\1\0\0\0", 12);
    kprof_put(header + 12, size, 4);
    kprof_put(header + 16, 3, 2);
    kprof_put(header + 18, 8, 2);
    kprof_put(header + 20, 48, 1);
    kprof_put(header + 21, 16, 1);
    kprof_put(header + 22, 16U | (full ? 1U : 0U) | (lost ? 4U : 0U), 2);
    kprof_put(header + 24, hz, 8);
    kprof_put(header + 32, 1, 4);
    kprof_put(header + 40, pass->total, 8);
    kprof_put(header + 48, pass->total, 8);
    kprof_put(header + 56, pass->total * 8, 8);
    kprof_put(header + 64, lost, 8);
    kprof_put(header + 72, (kprof_u64)now.tv_sec * 1000000000UL + (kprof_u64)now.tv_nsec - elapsed, 8);
#ifdef __ELF__
    if (kprof_names_sha256)
        memcpy(header + 80, kprof_names_sha256, 32);
#endif
    kprof_put(header + 112, KPROF_CHUNK_LOG2, 4);
    kprof_put(header + 116, kprof_crc32(0, kprof_sums, 4 * pass->chunks), 4);
    kprof_put(header + 120, length, 4);
    memcpy(header + 128, kprof_metadata, length);
    crc = kprof_crc32(0, header, 124);
    kprof_put(header + 124, kprof_crc32(crc, kprof_metadata, length), 4);
    return size;
}

/* One capture of n streams, from the first byte to the last without going back: also into a pipe. */
static int kprof_write_capture(int file, struct kprof_view *views, unsigned long n, kprof_u64 lost,
                               int full)
{
    struct kprof_pass sums, written;
    unsigned long i;

    memset(&sums, 0, sizeof sums);
    memset(&written, 0, sizeof written);
    sums.file = -1;
    written.file = file;
    kprof_begin_together(views, n);
    kprof_merge(&sums, views, n);
    for (i = 0; i < n; i++)
        lost -= views[i].count;
    lost += kprof_among_marks;
    kprof_describe(views, n);
    if (sums.failed
        || kprof_write_all(file, kprof_header, kprof_make_header(&sums, lost, full)) != 0)
        return -1;
    kprof_merge(&written, views, n);
    if (written.failed)
        return -1;
    return kprof_write_all(file, kprof_sums, 4 * sums.chunks);
}
