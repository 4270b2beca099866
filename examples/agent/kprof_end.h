/* kprof_end.h: how a host's program begins and ends: settings, signals, exit; a part of kprof_ram.c. */

/* Signals that end a program. A fault whose handler is the program's own may be part of how it
 * works (a page brought in, a probe): it is left alone. */
static const struct kprof_signal {
    int number, fault;
    const char *name;
} kprof_signals[] = {
    { SIGHUP, 0, "SIGHUP" }, { SIGINT, 0, "SIGINT" }, { SIGQUIT, 0, "SIGQUIT" },
    { SIGTERM, 0, "SIGTERM" }, { SIGPIPE, 0, "SIGPIPE" }, { SIGABRT, 1, "SIGABRT" },
    { SIGSEGV, 1, "SIGSEGV" }, { SIGBUS, 1, "SIGBUS" }, { SIGFPE, 1, "SIGFPE" },
    { SIGILL, 1, "SIGILL" }
};
#define KPROF_SIGNALS (sizeof kprof_signals / sizeof *kprof_signals)
static int kprof_handle, kprof_handling;

/* A handler of the program that a library replaces for a while, and then sets again, is what it
 * found: ours. So each of theirs has one of ours to itself. */
#define KPROF_HANDLERS 4
static struct kprof_handler {
    int used;
    struct sigaction theirs;
} kprof_handlers[KPROF_HANDLERS][KPROF_SIGNALS];

static void kprof_signalled(int which, int number, siginfo_t *info, void *context)
{
    struct sigaction theirs;
    sigset_t this_one;
    int saved = errno;
    size_t i = 0;

    while (i < KPROF_SIGNALS - 1 && kprof_signals[i].number != number)
        i++;
    theirs = kprof_handlers[which][i].theirs;
    if ((theirs.sa_flags & SA_SIGINFO) || theirs.sa_handler != SIG_DFL) {
        if (kprof_plain())
            kprof_save(kprof_signals[i].name, KPROF_SAY);
        errno = saved;
        if (theirs.sa_flags & SA_SIGINFO)
            theirs.sa_sigaction(number, info, context);
        else
            theirs.sa_handler(number);
        return;
    }
    kprof_save(kprof_signals[i].name, KPROF_SAY);
    sigaction(number, &theirs, (struct sigaction *)0);
    sigemptyset(&this_one);
    sigaddset(&this_one, number);
    raise(number);
    sigprocmask(SIG_UNBLOCK, &this_one, (sigset_t *)0);
    errno = saved;
}

static void kprof_handler0(int number, siginfo_t *info, void *context)
{
    kprof_signalled(0, number, info, context);
}

static void kprof_handler1(int number, siginfo_t *info, void *context)
{
    kprof_signalled(1, number, info, context);
}

static void kprof_handler2(int number, siginfo_t *info, void *context)
{
    kprof_signalled(2, number, info, context);
}

static void kprof_handler3(int number, siginfo_t *info, void *context)
{
    kprof_signalled(3, number, info, context);
}

static void (*const kprof_ours[KPROF_HANDLERS])(int, siginfo_t *, void *) = {
    kprof_handler0, kprof_handler1, kprof_handler2, kprof_handler3
};

/* Which of ours is to call what signal i does now; KPROF_HANDLERS: none. */
static int kprof_handler_for(size_t i, const struct sigaction *now)
{
    int special = !(now->sa_flags & SA_SIGINFO) && now->sa_handler == SIG_DFL, which;

    if (!(now->sa_flags & SA_SIGINFO) && now->sa_handler == SIG_IGN)
        return KPROF_HANDLERS;
    if (kprof_signals[i].fault && !special)
        return KPROF_HANDLERS;
    for (which = 0; which < KPROF_HANDLERS; which++)
        if (now->sa_sigaction == kprof_ours[which])
            return KPROF_HANDLERS;
    for (which = 0; which < KPROF_HANDLERS && kprof_handlers[which][i].used; which++)
        if (kprof_handlers[which][i].theirs.sa_sigaction == now->sa_sigaction)
            break;
    return which;
}

void kprof_ram_signals(void)
{
    struct sigaction ours, now;
    size_t i;
    int which;

    if (!kprof_handle || __atomic_exchange_n(&kprof_handling, 1, __ATOMIC_ACQUIRE))
        return;
    for (i = 0; i < KPROF_SIGNALS; i++) {
        if (sigaction(kprof_signals[i].number, (struct sigaction *)0, &now) != 0)
            continue;
        which = kprof_handler_for(i, &now);
        if (which == KPROF_HANDLERS)
            continue;
        kprof_handlers[which][i].theirs = ours = now;
        kprof_handlers[which][i].used = 1;
        if (!(now.sa_flags & SA_SIGINFO) && now.sa_handler == SIG_DFL)
            ours.sa_flags |= SA_ONSTACK | SA_RESTART;
        ours.sa_flags |= SA_SIGINFO;
        ours.sa_sigaction = kprof_ours[which];
        sigaction(kprof_signals[i].number, &ours, (struct sigaction *)0);
    }
    __atomic_store_n(&kprof_handling, 0, __ATOMIC_RELEASE);
}

/* A tag from the environment; KPROF_ANY: not given. */
static unsigned kprof_tag_setting(const char *setting)
{
    const char *text = getenv(setting);
    char *end = (char *)0;
    unsigned long tag = text ? strtoul(text, &end, 0) : 0;

    if (text && (*end || !tag || tag > 65535)) {
        fprintf(stderr, "kprof_ram: %s=%s: expected a tag, 1 to 65535; left out\n", setting, text);
        tag = KPROF_ANY;
    }
    return (unsigned)tag;
}

static void kprof_set_path(void)
{
    const char *path = getenv("KPROF_OUT");
    size_t length;

    if (!path || !*path)
        path = "kprof.bin";
    if (*path != '/' && getcwd(kprof_path, sizeof kprof_path)) { /* the program may go elsewhere */
        length = strlen(kprof_path);
        if (length + 1 + strlen(path) < sizeof kprof_path) {
            strcpy(kprof_path + length, length > 1 ? "/" : "");
            strcat(kprof_path, path);
            return;
        }
    }
    kprof_path[0] = 0;
    kprof_add(kprof_path, sizeof kprof_path, path);
}

#define KPROF_EXIT 74 /* EX_IOERR of sysexits.h: the capture could not be written */

#ifdef __GLIBC__
/* Behind all that the program does at its end but its destructors. */
static void kprof_at_exit(int status, void *unused)
{
    (void)unused;
    if (kprof_save("", KPROF_AT_END) != 0 && status == 0)
        exit(KPROF_EXIT);
}
#endif

static void kprof_at_start(void)
{
    const char *wanted = getenv("KPROF_EVENTS"), *mode = getenv("KPROF_KEEP"), *set;
    unsigned long events = wanted ? strtoul(wanted, (char **)0, 0) : 0, i, bit;
    int last = mode && strcmp(mode, "last") == 0;

    if (kprof_state != KPROF_NEW)
        return;
    KPROF_STORE(kprof_state, KPROF_STOPPED);
    for (i = 0; i < 256; i++)
        for (kprof_crc_table[i] = i, bit = 0; bit < 8; bit++)
            kprof_crc_table[i] = kprof_crc_table[i] & 1 ? 0xEDB88320UL ^ kprof_crc_table[i] >> 1
                                                        : kprof_crc_table[i] >> 1;
    kprof_owner = (long)getpid();
    if (fstat(2, &kprof_stderr) != 0)
        kprof_stderr.st_mode = 0;
    kprof_set_path();
    if (events && (events & (events - 1)) == 0)
        kprof_size = events;
    else if (wanted)
        fprintf(stderr, "kprof_ram: KPROF_EVENTS=%s: expected a power of two; keeping %lu\n",
                wanted, kprof_size);
    if (mode && !last && strcmp(mode, "first") != 0)
        fprintf(stderr, "kprof_ram: KPROF_KEEP=%s: expected first or last; keeping the first\n", mode);
    set = getenv("KPROF_PER_THREAD");
    kprof_per_thread = set && *set && strcmp(set, "0") != 0;
    set = getenv("KPROF_SIGNALS");
    kprof_handle = !(set && strcmp(set, "0") == 0);
#ifdef __linux__
    prctl(PR_GET_NAME, kprof_process, 0, 0, 0);
#endif
    kprof_start_ns = kprof_now_ns();
    kprof_start_clock = KPROF_NOW();
    if (kprof_join() == &kprof_strangers) {
        fprintf(stderr, "kprof_ram: KPROF_EVENTS=%lu: no memory for them; keeping %lu\n", kprof_size,
                (unsigned long)KPROF_RAM_EVENTS);
        kprof_size = KPROF_RAM_EVENTS;
        KPROF_STORE(kprof_joined, 0UL);
        kprof_join();
    }
    kprof_ram_signals();
#ifdef __GLIBC__
    on_exit(kprof_at_exit, (void *)0);
#endif
    kprof_ram_between(last ? KPROF_KEEP_LAST : KPROF_STOP_WHEN_FULL,
                      kprof_tag_setting("KPROF_START"), kprof_tag_setting("KPROF_STOP"));
}

/* What came after kprof_at_exit: the program's destructors. */
static void kprof_at_end(void)
{
    kprof_halt(KPROF_STOPPED);
#ifdef __GLIBC__
    if (kprof_ram_valid() + kprof_ram_lost() != kprof_known && kprof_plain())
        kprof_save("", KPROF_QUIET);
#else
    if (kprof_save("", KPROF_AT_END) != 0) {
        fflush((FILE *)0);
        _exit(KPROF_EXIT);
    }
#endif
}
