/* port_host.c: the agent ported to a POSIX host, serving a raw image (5 bytes a record).
 *
 *   kpr_host IMAGE [TTY]        TTY is a terminal to serve on; without it standard input and output
 *
 * The image is mapped: a program that writes into it meanwhile starts a new run, which the run number
 * shows. In the environment: KPR_VALID, the number of records that the last run stored; KPR_RUN, the
 * number of the first run (1), or 0 for an agent that cannot tell runs apart. Build it with
 *
 *   cc -o kpr_host port_host.c kpr_agent.c
 */
#define _DEFAULT_SOURCE
#define _POSIX_C_SOURCE 200809L
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include "kpr_agent.h"

static int in_fd = 0, out_fd = 1;
static unsigned char *image;
static int image_fd;
static unsigned long run_number = 1;
static struct timespec run_began;
static unsigned char out[1024];
static size_t out_used;

static void flush_out(void)
{
    size_t done = 0;

    while (done < out_used) {
        ssize_t n = write(out_fd, out + done, out_used - done);

        if (n <= 0)
            exit(1);
        done += (size_t)n;
    }
    out_used = 0;
}

int kpr_getc(void)
{
    unsigned char c;

    flush_out();
    return read(in_fd, &c, 1) == 1 ? c : -1;
}

void kpr_putc(int c)
{
    out[out_used++] = (unsigned char)c;
    if (out_used == sizeof out)
        flush_out();
}

unsigned char kpr_ram(unsigned long record, int byte)
{
    return image[record * 5 + (unsigned long)byte];
}

static int waiting(void)
{
    struct pollfd fd;

    fd.fd = in_fd;
    fd.events = POLLIN;
    return poll(&fd, 1, 0) > 0;
}

/* Another number when the image was written since it was last asked. */
static unsigned long run(void)
{
    struct stat state;

    if (fstat(image_fd, &state) == 0 && (state.st_mtim.tv_sec != run_began.tv_sec
                                         || state.st_mtim.tv_nsec != run_began.tv_nsec)) {
        run_began = state.st_mtim;
        run_number++;
    }
    return run_number;
}

static unsigned long set_baud(unsigned long rate, int change)
{
    static const struct { unsigned long rate; speed_t code; } speeds[] = {
        { 9600, B9600 }, { 19200, B19200 }, { 38400, B38400 }, { 57600, B57600 },
        { 115200, B115200 }, { 230400, B230400 },
#ifdef B921600
        { 460800, B460800 }, { 921600, B921600 },
#endif
    };
    struct termios state;
    size_t i;

    for (i = 0; i < sizeof speeds / sizeof speeds[0]; i++)
        if (speeds[i].rate == (rate ? rate : 115200UL))
            break;
    if (i == sizeof speeds / sizeof speeds[0] || tcgetattr(in_fd, &state) != 0)
        return 0;
    if (change) {
        flush_out();
        cfsetispeed(&state, speeds[i].code);
        cfsetospeed(&state, speeds[i].code);
        tcsetattr(in_fd, TCSADRAIN, &state);
    }
    return speeds[i].rate;
}

static int open_tty(const char *name)
{
    struct termios state;
    int fd = open(name, O_RDWR | O_NOCTTY);

    if (fd < 0 || tcgetattr(fd, &state) != 0) {
        perror(name);
        exit(1);
    }
    state.c_iflag = 0;
    state.c_oflag = 0;
    state.c_lflag = 0;
    state.c_cflag = CS8 | CREAD | CLOCAL;
    state.c_cc[VMIN] = 1;
    state.c_cc[VTIME] = 0;
    cfsetispeed(&state, B115200);
    cfsetospeed(&state, B115200);
    tcsetattr(fd, TCSANOW, &state);
    return fd;
}

int main(int argc, char **argv)
{
    struct kpr_info info;
    const char *valid = getenv("KPR_VALID"), *number = getenv("KPR_RUN");
    struct stat state;
    void *mapped;

    if (argc < 2 || argc > 3) {
        fprintf(stderr, "usage: kpr_host IMAGE [TTY]\n");
        return 2;
    }
    image_fd = open(argv[1], O_RDONLY);
    if (image_fd < 0 || fstat(image_fd, &state) != 0) {
        perror(argv[1]);
        return 1;
    }
    mapped = mmap(0, (size_t)state.st_size + 1, PROT_READ, MAP_SHARED, image_fd, 0);
    if (mapped == MAP_FAILED) {
        perror(argv[1]);
        return 1;
    }
    image = mapped;
    run_began = state.st_mtim;
    if (number)
        run_number = strtoul(number, (char **)0, 0);
    if (argc == 3)
        in_fd = out_fd = open_tty(argv[2]);

    info.name = "kpr_host";
    info.clock_hz = 1000000UL;
    info.capacity = (unsigned long)state.st_size / 5;
    info.valid = valid ? strtoul(valid, (char **)0, 0) : KPR_UNKNOWN;
    info.flags = valid ? 0UL : KPR_FULL;
    info.baud = isatty(in_fd) ? set_baud : 0;
    info.poll = waiting;
    info.run = run_number ? run : 0;
    kpr_agent(&info);
    flush_out();
    return 0;
}
