/* Preloaded into a test: the k-th call that changes a file below a folder fails, or kills the process.
 * fault_arm(folder, k, mode): mode 0 = fail with ENOSPC, 1 = kill, 2 = half of a write, then kill,
 * 3 = half of a write succeeds, the next fails. fault_calls(): calls seen since. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static char folder[4096];
static long at, calls;
static int mode;

void fault_arm(const char *below, long k, int how)
{
    strncpy(folder, below, sizeof folder - 1);
    at = k;
    mode = how;
    calls = 0;
}

long fault_calls(void)
{
    return calls;
}

static int below(const char *path)
{
    return folder[0] && strncmp(path, folder, strlen(folder)) == 0;
}

static int fd_below(int fd)
{
    char link[64], path[4096];
    ssize_t n;

    if (!folder[0])
        return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    n = readlink(link, path, sizeof path - 1);
    if (n < 0)
        return 0;
    path[n] = 0;
    return below(path);
}

/* 0: go on; 1: fail; 2: do half of it */
static int due(void)
{
    if (++calls != at)
        return 0;
    if (mode == 1)
        kill(getpid(), SIGKILL);
    if (mode == 0) {
        errno = ENOSPC;
        return 1;
    }
    if (mode == 3)
        at++, mode = 0;
    return 2;
}

#define REAL(name) real = real ? real : (__typeof__(real))dlsym(RTLD_NEXT, name)

ssize_t write(int fd, const void *data, size_t n)
{
    static ssize_t (*real)(int, const void *, size_t);
    int what = fd_below(fd) ? due() : 0;
    ssize_t done;

    REAL("write");
    if (what == 1)
        return -1;
    done = real(fd, data, what == 2 ? (n + 1) / 2 : n);
    if (what == 2 && mode == 2)
        kill(getpid(), SIGKILL);
    return done;
}

ssize_t pwrite64(int fd, const void *data, size_t n, off64_t offset)
{
    static ssize_t (*real)(int, const void *, size_t, off64_t);
    int what = fd_below(fd) ? due() : 0;
    ssize_t done;

    REAL("pwrite64");
    if (what == 1)
        return -1;
    done = real(fd, data, what == 2 ? (n + 1) / 2 : n, offset);
    if (what == 2 && mode == 2)
        kill(getpid(), SIGKILL);
    return done;
}

int fsync(int fd)
{
    static int (*real)(int);
    int what = fd_below(fd) ? due() : 0;

    REAL("fsync");
    if (what == 2 && mode == 2)
        kill(getpid(), SIGKILL);
    return what == 1 ? -1 : real(fd);
}

int ftruncate64(int fd, off64_t length)
{
    static int (*real)(int, off64_t);
    int what = fd_below(fd) ? due() : 0;

    REAL("ftruncate64");
    if (what == 2 && mode == 2)
        kill(getpid(), SIGKILL);
    return what == 1 ? -1 : real(fd, length);
}

int rename(const char *from, const char *to)
{
    static int (*real)(const char *, const char *);
    int what = below(to) ? due() : 0;
    int done;

    REAL("rename");
    if (what == 1)
        return -1;
    done = real(from, to);
    if (what == 2 && mode == 2)
        kill(getpid(), SIGKILL);
    return done;
}
