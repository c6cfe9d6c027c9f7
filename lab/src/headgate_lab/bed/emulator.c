/* A wire with distance: carries IP packets between two TUN devices, late, slowly, or not at all.
 *
 *   emulator NEAR_NS NEAR_DEV FAR_NS FAR_DEV PATHS_FILE
 *
 * Each line of the paths file is one server: "ADDRESS RTT_SECONDS BYTES_PER_SECOND LOSS" (rate 0:
 * no limit). Half of the round trip is spent on each way; the rate and its queue hold packets on
 * the way from the server only. A packet waits in a heap ordered by the moment it is due; a packet
 * of a path never overtakes another because due times of a path do not fall.
 *
 * In C because Python spends 10 us or more on a packet and its timers slip under load: at 10 MB/s
 * the bed would measure itself.
 *
 * Ends when its standard input closes, so it cannot outlive the bench that started it.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum { MAX_PATHS = 1024, MAX_PACKET = 2048, QUEUE_BYTES = 512 * 1024, READS_AT_ONCE = 64 };

struct path {
    uint32_t address;
    uint64_t one_way_ns;
    double bytes_per_second, loss;
    uint64_t free_at; /* when the last byte given to this path has left it */
};

struct packet {
    uint64_t due, order;
    int out_fd;
    int length;
    unsigned char bytes[MAX_PACKET];
};

static struct path paths[MAX_PATHS];
static int path_count;
static struct packet **heap;
static size_t heap_count, heap_room;
static uint64_t packets_seen, random_state = 88172645463325252ull;

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

static double chance(void) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (double)(random_state >> 11) / (double)(1ull << 53);
}

static int open_tun(const char *ns, const char *dev) {
    char file[256];
    snprintf(file, sizeof file, "/var/run/netns/%s", ns);
    int ns_fd = open(file, O_RDONLY | O_CLOEXEC);
    if (ns_fd < 0 || setns(ns_fd, CLONE_NEWNET) < 0) fail(file);
    close(ns_fd);
    int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) fail("/dev/net/tun");
    struct ifreq request = {0};
    request.ifr_flags = IFF_TUN | IFF_NO_PI;
    strncpy(request.ifr_name, dev, IFNAMSIZ - 1);
    if (ioctl(fd, TUNSETIFF, &request) < 0) fail(dev);
    return fd;
}

static void read_paths(const char *file) {
    FILE *in = fopen(file, "r");
    if (!in) fail(file);
    char address[64];
    double rtt, rate, loss;
    while (path_count < MAX_PATHS && fscanf(in, "%63s %lf %lf %lf", address, &rtt, &rate, &loss) == 4) {
        struct path *p = &paths[path_count++];
        p->address = inet_addr(address);
        p->one_way_ns = (uint64_t)(rtt * 0.5e9);
        p->bytes_per_second = rate;
        p->loss = loss;
    }
    fclose(in);
}

static struct path *path_of(uint32_t address) {
    for (int i = 0; i < path_count; i++)
        if (paths[i].address == address) return &paths[i];
    return NULL;
}

static int earlier(const struct packet *a, const struct packet *b) {
    return a->due != b->due ? a->due < b->due : a->order < b->order;
}

static void push(struct packet *p) {
    if (heap_count == heap_room) {
        heap_room = heap_room ? heap_room * 2 : 4096;
        heap = realloc(heap, heap_room * sizeof *heap);
        if (!heap) fail("realloc");
    }
    size_t i = heap_count++;
    while (i && earlier(p, heap[(i - 1) / 2])) {
        heap[i] = heap[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    heap[i] = p;
}

static struct packet *pop(void) {
    struct packet *top = heap[0], *last = heap[--heap_count];
    size_t i = 0;
    for (;;) {
        size_t child = 2 * i + 1;
        if (child >= heap_count) break;
        if (child + 1 < heap_count && earlier(heap[child + 1], heap[child])) child++;
        if (!earlier(heap[child], last)) break;
        heap[i] = heap[child];
        i = child;
    }
    if (heap_count) heap[i] = last;
    return top;
}

/* A full queue or a device that is not up yet loses the packet, as a line would. */
static void hand_over(struct packet *p) {
    if (write(p->out_fd, p->bytes, (size_t)p->length) < 0 && errno != EAGAIN && errno != EIO)
        fail("write");
    free(p);
}

/* When the packet is due, or 0 when it is lost. */
static uint64_t due_time(struct path *p, int length, int from_server, uint64_t now) {
    if (!p) return now;
    if (p->loss > 0 && chance() < p->loss) return 0;
    if (!from_server || p->bytes_per_second <= 0) return now + p->one_way_ns;
    if (p->free_at < now) p->free_at = now;
    if ((double)(p->free_at - now) * 1e-9 * p->bytes_per_second > QUEUE_BYTES) return 0;
    p->free_at += (uint64_t)(length * 1e9 / p->bytes_per_second);
    return p->free_at + p->one_way_ns;
}

static void take(int in_fd, int out_fd, int from_server) {
    for (int i = 0; i < READS_AT_ONCE; i++) {
        struct packet *p = malloc(sizeof *p);
        if (!p) fail("malloc");
        p->length = (int)read(in_fd, p->bytes, sizeof p->bytes);
        uint32_t server = 0;
        if (p->length >= 20) memcpy(&server, p->bytes + (from_server ? 12 : 16), 4);
        uint64_t now = now_ns();
        uint64_t due = p->length >= 20 ? due_time(path_of(server), p->length, from_server, now) : 0;
        if (due == 0) {
            int drained = p->length < 0;
            free(p);
            if (drained) return;
            continue;
        }
        p->due = due;
        p->order = packets_seen++;
        p->out_fd = out_fd;
        if (due <= now) {
            hand_over(p);
        } else {
            push(p);
        }
    }
}

static void deliver(void) {
    uint64_t now = now_ns();
    while (heap_count && heap[0]->due <= now) {
        hand_over(pop());
    }
}

int main(int argc, char **argv) {
    if (argc != 6) {
        fprintf(stderr, "usage: emulator NEAR_NS NEAR_DEV FAR_NS FAR_DEV PATHS_FILE\n");
        return 2;
    }
    int near = open_tun(argv[1], argv[2]), far = open_tun(argv[3], argv[4]);
    read_paths(argv[5]);
    prctl(PR_SET_TIMERSLACK, 1);
    sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){.sched_priority = 10});
    puts("ready");
    fflush(stdout);
    struct pollfd ends[3] = {{near, POLLIN, 0}, {far, POLLIN, 0}, {0, POLLIN, 0}};
    for (;;) {
        struct timespec wait = {1, 0};
        if (heap_count) {
            uint64_t now = now_ns(), due = heap[0]->due;
            uint64_t left = due > now ? due - now : 0;
            wait.tv_sec = (time_t)(left / 1000000000ull);
            wait.tv_nsec = (long)(left % 1000000000ull);
        }
        if (ppoll(ends, 3, &wait, NULL) < 0 && errno != EINTR) fail("ppoll");
        deliver();
        if (ends[0].revents) take(near, far, 0);
        if (ends[1].revents) take(far, near, 1);
        char byte;
        if (ends[2].revents && read(0, &byte, 1) <= 0) return 0;
    }
}
