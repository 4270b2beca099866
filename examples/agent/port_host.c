/* port_host.c: the agent ported to a POSIX host, serving a raw image (5 bytes a record).
 *
 *   kpr_host IMAGE [TTY]        TTY is a terminal to serve on; without it standard input and output
 *
 * KPR_VALID in the environment is the number of records that the last run stored. Build it with
 *
 *   cc -o kpr_host port_host.c kpr_agent.c
 */
#define _DEFAULT_SOURCE
#define _POSIX_C_SOURCE 200112L
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <termios.h>
#include <unistd.h>

#include "kpr_agent.h"

static int in_fd = 0, out_fd = 1;
static unsigned char *image;
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
    const char *valid = getenv("KPR_VALID");
    FILE *file;
    long size;

    if (argc < 2 || argc > 3) {
        fprintf(stderr, "usage: kpr_host IMAGE [TTY]\n");
        return 2;
    }
    file = fopen(argv[1], "rb");
    if (!file || fseek(file, 0L, SEEK_END) != 0 || (size = ftell(file)) < 0) {
        perror(argv[1]);
        return 1;
    }
    rewind(file);
    image = malloc((size_t)size + 1);
    if (!image || fread(image, 1, (size_t)size, file) != (size_t)size) {
        fprintf(stderr, "%s: cannot read it whole\n", argv[1]);
        return 1;
    }
    fclose(file);
    if (argc == 3)
        in_fd = out_fd = open_tty(argv[2]);

    info.name = "kpr_host";
    info.clock_hz = 1000000UL;
    info.capacity = (unsigned long)size / 5;
    info.valid = valid ? strtoul(valid, (char **)0, 0) : KPR_UNKNOWN;
    info.flags = valid ? 0UL : KPR_FULL;
    info.baud = isatty(in_fd) ? set_baud : 0;
    info.poll = waiting;
    kpr_agent(&info);
    flush_out();
    return 0;
}
