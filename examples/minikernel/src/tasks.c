/* tasks.c: what runs on the kernel. */
#include "kernel.h"

#define PIPE 8
#ifndef ROUNDS
#define ROUNDS 600 /* of the consumer's computing */
#endif

u32 received_bytes, consumed, checks;

#if !defined NO_NET && !defined OWN_NET

/* Read the data stream, as the paper's sink did. */
static u8 sink[2048];

void soo_read(void)
{
    COUNT(soo_read);
    received_bytes += soreceive(&data_socket, sink, sizeof sink);
}

static void reader(void)
{
    for (;;)
        soo_read();
}

#endif

/* A pipe between two tasks. */
static u32 pipe[PIPE];
static int pipe_in, pipe_out;

void pipe_write(u32 item)
{
    COUNT(pipe_write);
    while (pipe_in - pipe_out == PIPE)
        sleep(&pipe_out);
    pipe[pipe_in++ % PIPE] = item;
    wakeup(&pipe_in);
}

u32 pipe_read(void)
{
    u32 item;

    COUNT(pipe_read);
    while (pipe_in == pipe_out)
        sleep(&pipe_in);
    item = pipe[pipe_out++ % PIPE];
    wakeup(&pipe_out);
    return item;
}

/* Something long and without calls. */
u32 mix(u32 seed, int rounds)
{
    COUNT(mix);
    while (rounds-- > 0) {
        seed ^= seed << 13;
        seed ^= seed >> 17;
        seed ^= seed << 5;
    }
    return seed;
}

static void producer(void)
{
    u32 item = 1;
    int i;

    for (;;) {
        pause_ticks(2);
        for (i = 0; i < 3; i++) {
            item = mix(item, 20);
            pipe_write(item);
        }
    }
}

static void consumer(void)
{
    for (;;)
        consumed += mix(pipe_read(), ROUNDS) & 1;
}

/* A line on the console now and then: digits by recursion, and one interrupt a character. */
static void reporter(void)
{
    for (;;) {
        pause_ticks(50);
        cnputs("received ");
        cnputn(received_bytes);
        cnputs(" bytes\r\n");
    }
}

void start_tasks(void)
{
    extern void monitor(void);

#ifndef NO_NET
    task_create("reader", reader);
#endif
    task_create("producer", producer);
    task_create("consumer", consumer);
    task_create("reporter", reporter);
#ifndef NO_AGENT
    task_create("monitor", monitor);
#endif
}
