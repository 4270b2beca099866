/* kprof_save.h: writing a host's capture to a path, and saying where it is; a part of kprof_ram.c. */

static unsigned long kprof_writer; /* the process that is writing, or 0 */
static KPROF_OWN int kprof_inside; /* this thread is */
static sigset_t kprof_mask;        /* its signals before */
static unsigned long kprof_wrote;  /* events in the file, marks apart */
static unsigned long kprof_known;  /* events that had come when it was written */
static char kprof_target[KPROF_PATH_ROOM], kprof_link[KPROF_PATH_ROOM];
static char kprof_beside[KPROF_PATH_ROOM + 8], kprof_out[KPROF_PATH_ROOM + 48];
static char kprof_text[KPROF_PATH_ROOM + 512];

static struct stat kprof_stderr; /* as it was at the start; st_mode 0: there was none */

static void kprof_say(const char *first, const char *second)
{
    struct stat now;

    if (!kprof_stderr.st_mode || fstat(2, &now) != 0 || now.st_dev != kprof_stderr.st_dev
        || now.st_ino != kprof_stderr.st_ino)
        return; /* a program that has closed it may have a file of its own there now */
    kprof_text[0] = 0;
    kprof_add(kprof_text, sizeof kprof_text - 1, "kprof_ram: ");
    kprof_add(kprof_text, sizeof kprof_text - 1, first);
    kprof_add(kprof_text, sizeof kprof_text - 1, second);
    kprof_add(kprof_text, sizeof kprof_text, "\n");
    kprof_write_all(2, kprof_text, strlen(kprof_text));
}

/* Replace a path of KPROF_PATH_ROOM bytes, if it is a symbolic link, by what that leads to. */
static int kprof_follow(char *path)
{
    struct stat state;
    size_t folder;
    long length;
    int links;

    for (links = 0; lstat(path, &state) == 0 && S_ISLNK(state.st_mode); links++) {
        length = (long)readlink(path, kprof_link, sizeof kprof_link - 1);
        if (length <= 0 || links == 40)
            return -1;
        kprof_link[length] = 0;
        folder = kprof_link[0] != '/' && strrchr(path, '/') ? (size_t)(strrchr(path, '/') + 1 - path) : 0;
        if (folder + (size_t)length >= KPROF_PATH_ROOM)
            return -1;
        memcpy(path + folder, kprof_link, (size_t)length + 1);
    }
    return 0;
}

/* n streams to one path; beside it and renamed, unless it is a device or a pipe. */
static int kprof_write_path(const char *path, struct kprof_view *views, unsigned long n,
                            kprof_u64 lost, int full)
{
    const char *opened = kprof_beside;
    struct stat state;
    int file, result = -1, plain;

    if (strlen(path) >= KPROF_PATH_ROOM)
        return -1;
    plain = stat(path, &state) != 0 || S_ISREG(state.st_mode);
    strcpy(kprof_target, path);
    if (plain && kprof_follow(kprof_target) != 0)
        return -1;
    strcpy(kprof_beside, kprof_target);
    strcat(kprof_beside, ".part");
    if (!plain)
        opened = path;
    else if (lstat(kprof_beside, &state) == 0 && !S_ISREG(state.st_mode))
        return -1;
    if (!plain) /* a file is soon written; a pipe may wait for ever */
        sigprocmask(SIG_SETMASK, &kprof_mask, (sigset_t *)0);
    file = open(opened, plain ? O_WRONLY | O_CREAT | O_TRUNC : O_WRONLY, 0666);
    if (file >= 0) {
        result = kprof_write_capture(file, views, n, lost, full);
        if (close(file) != 0)
            result = -1;
        if (plain && result == 0)
            result = rename(kprof_beside, kprof_target);
        if (plain && result != 0)
            unlink(kprof_beside);
    }
    return result;
}

/* What all threads have stored, to one path or to a path each. */
static int kprof_write_streams(const char *path)
{
    kprof_u64 now = KPROF_NOW() - kprof_start_clock, seen, lost = KPROF_LOAD(kprof_strangers.away);
    unsigned long i, n = 0;
    int result = 0, full = kprof_ram_full();

    for (i = 0; i < KPROF_MARK_COUNT; i++) {
        kprof_kept(i, &seen);
        if (seen && kprof_view_of(i, &kprof_views[n++], now) != 0)
            result = -1;
        if (!kprof_per_thread)
            lost += seen;
    }
    if (result == 0 && (!kprof_per_thread || n == 0))
        result = kprof_write_path(path, kprof_views, n, lost, full);
    for (i = kprof_wrote = 0; i < n; i++)
        kprof_wrote += kprof_views[i].count;
    for (i = 0; i < n && kprof_per_thread; i++) {
        kprof_out[0] = 0;
        kprof_add(kprof_out, sizeof kprof_out, path);
        kprof_add(kprof_out, sizeof kprof_out, ".t");
        kprof_add_number(kprof_out, sizeof kprof_out, kprof_views[i].number);
        kprof_kept(kprof_views[i].number, &seen);
        if (result == 0)
            result = kprof_write_path(kprof_out, &kprof_views[i], 1, seen + lost, full);
        lost = 0; /* the strangers' events are the first file's */
    }
    for (i = 0; i < n; i++)
        if (kprof_views[i].copy)
            munmap(kprof_views[i].copy, kprof_views[i].mapped);
    return result;
}

/* Signals are held back while it is written, and where another thread writes, that is waited for. */
static int kprof_begin_writing(void)
{
    unsigned long own = (unsigned long)getpid(), holder;
    struct timespec pause;
    sigset_t all, before;
    int tries;

    if (kprof_inside) /* a signal's handler, in the middle of writing to a pipe */
        return -1;
    sigfillset(&all);
    sigdelset(&all, SIGSEGV);
    sigdelset(&all, SIGBUS);
    sigprocmask(SIG_BLOCK, &all, &before);
    pause.tv_sec = 0;
    pause.tv_nsec = 1000000;
    for (tries = 0; tries < 10000; tries++) {
        holder = 0;
        if (__atomic_compare_exchange_n(&kprof_writer, &holder, own, 0, __ATOMIC_ACQ_REL,
                                        __ATOMIC_ACQUIRE)
            || (holder != own /* the thread that wrote when this process was forked is not here */
                && __atomic_compare_exchange_n(&kprof_writer, &holder, own, 0, __ATOMIC_ACQ_REL,
                                               __ATOMIC_ACQUIRE))) {
            kprof_inside = 1;
            kprof_mask = before;
            return 0;
        }
        nanosleep(&pause, (struct timespec *)0);
    }
    sigprocmask(SIG_SETMASK, &before, (sigset_t *)0);
    return -1;
}

static void kprof_end_writing(void)
{
    sigset_t before = kprof_mask;

    kprof_inside = 0;
    KPROF_STORE(kprof_writer, 0UL);
    sigprocmask(SIG_SETMASK, &before, (sigset_t *)0);
}

int kprof_ram_write(const char *path)
{
    int result;

    if (KPROF_LOAD(kprof_state) == KPROF_NEW)
        kprof_at_start();
    if (kprof_begin_writing() != 0)
        return -1;
    result = kprof_write_streams(path);
    kprof_end_writing();
    return result;
}

/* Say what is in the file, and what it would take to have it all. */
static void kprof_report(const char *why, const char *path)
{
    kprof_u64 seen, most = 0;
    unsigned long i, lost = kprof_ram_lost(), wanted = kprof_size, others;
    char text[256];

    text[0] = 0;
    kprof_add(text, sizeof text, why);
    kprof_add(text, sizeof text, *why ? ": " : "");
    kprof_add_number(text, sizeof text, kprof_wrote);
    kprof_add(text, sizeof text, kprof_keep && lost ? " events, the last ones, in " : " events in ");
    kprof_say(text, path);
    if (kprof_among_marks)
        kprof_say("tags of the program are among the task marks, KPROF_MARK_FIRST and up; their events "
                  "are left out", "");
    if (!lost || kprof_keep)
        return;
    for (i = 0; i < KPROF_MARK_COUNT; i++) {
        kprof_kept(i, &seen);
        if (seen > most)
            most = seen;
    }
    while (wanted < most)
        wanted *= 2;
    text[0] = 0;
    kprof_add_number(text, sizeof text, lost);
    kprof_add(text, sizeof text, " events were lost");
    others = KPROF_LOAD(kprof_strangers.away);
    if (others) {
        kprof_add(text, sizeof text, ", ");
        kprof_add_number(text, sizeof text, others);
        kprof_add(text, sizeof text, " of them of threads after the first ");
        kprof_add_number(text, sizeof text, KPROF_MARK_COUNT);
        kprof_add(text, sizeof text, " (KPROF_MARK_COUNT) or without memory");
    }
    if (wanted > kprof_size) {
        kprof_add(text, sizeof text, " (KPROF_EVENTS=");
        kprof_add_number(text, sizeof text, wanted);
        kprof_add(text, sizeof text, " keeps that many, KPROF_KEEP=last the last ones)");
    }
    kprof_say(text, "");
}

static int kprof_plain(void)
{
    struct stat state;

    return stat(kprof_path, &state) != 0 || S_ISREG(state.st_mode);
}

enum { KPROF_QUIET, KPROF_SAY, KPROF_AT_END };

/* At the end of a program that is not being watched nothing is said but that something is missing. */
static int kprof_worth_saying(int say)
{
    return say == KPROF_SAY
        || (say == KPROF_AT_END
            && (isatty(2) || kprof_among_marks || (kprof_ram_lost() && !kprof_keep)));
}

/* Write KPROF_OUT. A fork's events are its own, in a file of its own. */
static int kprof_save(const char *why, int say)
{
    static char path[KPROF_PATH_ROOM];
    int result;

    if (kprof_begin_writing() != 0)
        return -1;
    path[0] = 0;
    kprof_add(path, sizeof path, kprof_path);
    if ((long)getpid() != kprof_owner) {
        kprof_add(path, sizeof path, ".");
        kprof_add_number(path, sizeof path, (kprof_u64)getpid());
    }
    kprof_known = kprof_ram_valid() + kprof_ram_lost();
    result = kprof_write_streams(path);
    if (result != 0)
        kprof_say(path, ": cannot write the capture");
    else if (kprof_worth_saying(say))
        kprof_report(why, path);
    kprof_end_writing();
    return result;
}

/* The recording has ended before the program; a pipe has one capture, at the end. */
static void kprof_halted(const char *why)
{
    if (kprof_plain())
        kprof_save(why, KPROF_SAY);
}

int kprof_ram_flush(void)
{
    if (KPROF_LOAD(kprof_state) == KPROF_NEW)
        kprof_at_start();
    return kprof_save("", KPROF_QUIET);
}
