/* Did the machine itself stand still? One thread per core, before all others, wakes every 2 ms and
 * notes when it came late: then the host took the core away, and packets waited with it.
 *
 *   watch > records
 *
 * Prints "WALL_TIME SECONDS" for every pause of at least 5 ms, stamped with its end. Ends when its
 * standard input closes.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static const uint64_t TICK_NS = 2000000ull, LATE_NS = 5000000ull;

static uint64_t clock_ns(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

static void *watch(void *core) {
    cpu_set_t here;
    CPU_ZERO(&here);
    CPU_SET((int)(intptr_t)core, &here);
    pthread_setaffinity_np(pthread_self(), sizeof here, &here);
    pthread_setschedparam(pthread_self(), SCHED_FIFO, &(struct sched_param){.sched_priority = 11});
    uint64_t due = clock_ns(CLOCK_MONOTONIC);
    for (;;) {
        due += TICK_NS;
        struct timespec at = {(time_t)(due / 1000000000ull), (long)(due % 1000000000ull)};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
        uint64_t now = clock_ns(CLOCK_MONOTONIC);
        if (now - due >= LATE_NS)
            printf("%.3f %.4f\n", (double)clock_ns(CLOCK_REALTIME) * 1e-9,
                   (double)(now - due) * 1e-9);
        due = now;
    }
    return NULL;
}

int main(void) {
    cpu_set_t cores;
    sched_getaffinity(0, sizeof cores, &cores);
    for (int core = 0; core < CPU_SETSIZE; core++) {
        pthread_t thread;
        if (CPU_ISSET(core, &cores)) pthread_create(&thread, NULL, watch, (void *)(intptr_t)core);
    }
    fprintf(stderr, "ready\n");
    char byte;
    while (read(0, &byte, 1) > 0) {
    }
    fflush(stdout);
    return 0;
}
