/* What an interface carried: bytes per 10 ms and per far address, from the packets themselves.
 *
 *   meter DEVICE > records
 *
 * Writes binary records {uint32 bin; uint32 address; uint32 received; uint32 sent}, little-endian,
 * bins in order, only those that carried something. Bytes are those of whole Ethernet frames,
 * without preamble and check sum, or of IP packets where the device has no frames (TUN). The first 8 bytes written are the wall time of bin 0 in ns.
 * Ends when its standard input closes; the last two words written on standard error are the number
 * of packets seen and of packets the kernel could not hand over (a measurement counts when it is 0).
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { BATCH = 64, HEAD = 64, MAX_ADDRESSES = 4096 };
static const uint64_t BIN_NS = 10000000ull;

struct record {
    uint32_t bin, address, received, sent;
};

static struct record current[MAX_ADDRESSES];
static int used;
static uint32_t open_bin;

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static void flush_bin(void) {
    for (int i = 0; i < used; i++) fwrite(&current[i], sizeof current[i], 1, stdout);
    used = 0;
}

static void count(uint32_t bin, uint32_t address, uint32_t length, int outgoing) {
    if (bin != open_bin) {
        flush_bin();
        open_bin = bin;
    }
    int i = 0;
    while (i < used && current[i].address != address) i++;
    if (i == MAX_ADDRESSES) return;
    if (i == used) current[used++] = (struct record){bin, address, 0, 0};
    if (outgoing)
        current[i].sent += length;
    else
        current[i].received += length;
}

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: meter DEVICE\n");
        return 2;
    }
    int fd = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK, htons(ETH_P_IP));
    if (fd < 0) fail("socket");
    int on = 1, room = 64 << 20;
    setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on);
    setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room);
    struct sockaddr_ll here = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_IP)};
    here.sll_ifindex = (int)if_nametoindex(argv[1]);
    if (bind(fd, (struct sockaddr *)&here, sizeof here) < 0) fail(argv[1]);

    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    uint64_t start = (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec, seen = 0;
    fwrite(&start, sizeof start, 1, stdout);
    fprintf(stderr, "ready\n");

    static unsigned char heads[BATCH][HEAD], controls[BATCH][128];
    static struct sockaddr_ll from[BATCH];
    struct iovec parts[BATCH];
    struct mmsghdr batch[BATCH];
    struct pollfd ends[2] = {{fd, POLLIN, 0}, {0, POLLIN, 0}};
    for (;;) {
        poll(ends, 2, 1000);
        for (int i = 0; i < BATCH; i++) {
            parts[i] = (struct iovec){heads[i], HEAD};
            batch[i].msg_hdr = (struct msghdr){&from[i], sizeof from[i], &parts[i], 1,
                                               controls[i], sizeof controls[i], 0};
        }
        int got = recvmmsg(fd, batch, BATCH, MSG_TRUNC, NULL);
        for (int i = 0; i < got; i++) {
            struct cmsghdr *c = CMSG_FIRSTHDR(&batch[i].msg_hdr);
            if (!c || batch[i].msg_len < 34) continue;
            memcpy(&t, CMSG_DATA(c), sizeof t);
            uint64_t at = (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
            int outgoing = from[i].sll_pkttype == PACKET_OUTGOING;
            uint32_t address;
            int frame = from[i].sll_hatype == ARPHRD_NONE ? 0 : ETH_HLEN;
            memcpy(&address, heads[i] + frame + (outgoing ? 16 : 12), 4);
            count(at > start ? (uint32_t)((at - start) / BIN_NS) : 0, ntohl(address),
                  batch[i].msg_len, outgoing);
            seen++;
        }
        char byte;
        if (got <= 0 && ends[1].revents && read(0, &byte, 1) <= 0) break;
    }
    flush_bin();
    fflush(stdout);
    struct tpacket_stats lost = {0};
    socklen_t size = sizeof lost;
    getsockopt(fd, SOL_PACKET, PACKET_STATISTICS, &lost, &size);
    fprintf(stderr, "%llu %u\n", (unsigned long long)seen, lost.tp_drops);
    return 0;
}
