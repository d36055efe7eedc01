/* The paths between the peers: takes packets from a TUN device, delays or loses them, and puts them back.
 *
 *   forwarder DEVICE ONE_WAY_NS LOSS SEED < commands
 *
 * The first lines of standard input are "peer INDEX UPLINK DOWNLINK", rates in bytes per second, and "go". Peer INDEX
 * has the address 198.18.INDEX.2. A packet is delivered after ONE_WAY_NS and the time that it takes on both links, which
 * the kernel's shapers leave out: they let a packet go when the link becomes free, not when its last bit has left.
 *
 * Every further line asks for a snapshot, one line of JSON: monotonic time [s]; by peer the bytes of TCP, UDP and all
 * else that left its uplink, and the time until the packet on its uplink has left [s]; packets lost; how late packets
 * were delivered since the last snapshot, mean and most [s]. The end of standard input ends the program.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum { PEERS = 256, LONGEST = 2048, HEADER = 20, SECOND = 1000000000 };

typedef struct {
    int64_t due;
    uint64_t order; /* packets due at the same time stay in order */
    int size;
    unsigned char *data;
} Packet;

typedef struct {
    double uplink, downlink;
    uint64_t tcp, udp, other;
    int64_t free_at; /* when the last packet seen has left the uplink */
} Peer;

static Peer peers[PEERS];
static Packet *heap;
static size_t waiting, room;
static uint64_t order, lost, delivered, seed;
static int64_t late_sum, late_most;

static int64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * SECOND + t.tv_nsec;
}

static double uniform(void) { /* splitmix64 */
    uint64_t z = (seed += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

static int before(const Packet *a, const Packet *b) {
    return a->due != b->due ? a->due < b->due : a->order < b->order;
}

static void *no_less(void *memory) {
    if (memory == NULL) {
        perror("forwarder");
        exit(1);
    }
    return memory;
}

static void push(Packet packet) {
    if (waiting == room) {
        room = room ? 2 * room : 1024;
        heap = no_less(realloc(heap, room * sizeof *heap));
    }
    size_t i = waiting++;
    for (size_t up; i > 0 && before(&packet, &heap[up = (i - 1) / 2]); i = up) heap[i] = heap[up];
    heap[i] = packet;
}

static Packet pop(void) {
    Packet first = heap[0], last = heap[--waiting];
    size_t i = 0;
    for (size_t child; (child = 2 * i + 1) < waiting; i = child) {
        if (child + 1 < waiting && before(&heap[child + 1], &heap[child])) child++;
        if (!before(&heap[child], &last)) break;
        heap[i] = heap[child];
    }
    heap[i] = last;
    return first;
}

/* The time that a packet takes on a link [ns]. */
static int64_t takes(int size, double rate) { return rate > 0 ? (int64_t)(size / rate * SECOND) : 0; }

static void take(unsigned char *data, int size, int64_t one_way, double loss) {
    if (size < HEADER || data[0] >> 4 != 4) return;
    Peer *from = &peers[data[14]], *to = &peers[data[18]];
    int64_t t = now(), on_uplink = takes(size, from->uplink);
    *(data[9] == IPPROTO_TCP ? &from->tcp : data[9] == IPPROTO_UDP ? &from->udp : &from->other) += (uint64_t)size;
    from->free_at = t + on_uplink;
    if (loss > 0 && uniform() < loss) {
        lost++;
        return;
    }
    Packet packet = {t + on_uplink + one_way + takes(size, to->downlink), order++, size, no_less(malloc((size_t)size))};
    memcpy(packet.data, data, (size_t)size);
    push(packet);
}

static void deliver(int device) {
    while (waiting > 0) {
        int64_t late = now() - heap[0].due;
        if (late < 0) return;
        Packet packet = pop();
        if (write(device, packet.data, (size_t)packet.size) < 0 && errno != EAGAIN && errno != EINVAL && errno != EIO) {
            perror("forwarder: write");
            exit(1);
        }
        free(packet.data);
        delivered++;
        late_sum += late;
        if (late > late_most) late_most = late;
    }
}

static void snapshot(void) {
    int64_t t = now();
    printf("{\"t\": %.6f, \"lost\": %llu, \"late\": %.9f, \"latest\": %.9f, \"peers\": {", (double)t / SECOND,
           (unsigned long long)lost, delivered ? (double)late_sum / (double)delivered / SECOND : 0.0,
           (double)late_most / SECOND);
    const char *comma = "";
    for (int i = 0; i < PEERS; i++) {
        const Peer *p = &peers[i];
        if (p->tcp + p->udp + p->other == 0) continue;
        double left = p->free_at > t ? (double)(p->free_at - t) / SECOND : 0.0;
        printf("%s\"%d\": [%llu, %llu, %llu, %.6f]", comma, i, (unsigned long long)p->tcp, (unsigned long long)p->udp,
               (unsigned long long)p->other, left);
        comma = ", ";
    }
    printf("}}\n");
    fflush(stdout);
    late_sum = late_most = 0;
    delivered = 0;
}

static int opened(const char *name) {
    struct ifreq request = {.ifr_flags = IFF_TUN | IFF_NO_PI};
    int device = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    strncpy(request.ifr_name, name, IFNAMSIZ - 1);
    if (device < 0 || ioctl(device, TUNSETIFF, &request) < 0) {
        perror("forwarder: /dev/net/tun");
        exit(1);
    }
    return device;
}

static void read_peers(void) {
    char line[256];
    while (fgets(line, sizeof line, stdin) && strncmp(line, "go", 2) != 0) {
        int i;
        double up, down;
        if (sscanf(line, "peer %d %lf %lf", &i, &up, &down) == 3 && i >= 0 && i < PEERS)
            peers[i] = (Peer){.uplink = up, .downlink = down};
    }
}

int main(int argc, char **argv) {
    static unsigned char data[LONGEST];
    if (argc != 5) {
        fprintf(stderr, "usage: forwarder DEVICE ONE_WAY_NS LOSS SEED\n");
        return 2;
    }
    int64_t one_way = atoll(argv[2]);
    double loss = atof(argv[3]);
    seed = strtoull(argv[4], NULL, 10);
    prctl(PR_SET_TIMERSLACK, 1);
    setvbuf(stdin, NULL, _IONBF, 0); /* what poll says is what there is to read */
    read_peers();
    int device = opened(argv[1]);
    printf("ready\n");
    fflush(stdout);
    for (;;) {
        struct pollfd sources[2] = {{device, POLLIN, 0}, {STDIN_FILENO, POLLIN, 0}};
        struct timespec until = {0, 0}, *timeout = NULL;
        if (waiting > 0) {
            int64_t left = heap[0].due - now();
            if (left > 0) until = (struct timespec){left / SECOND, left % SECOND};
            timeout = &until;
        }
        if (ppoll(sources, 2, timeout, NULL) < 0 && errno != EINTR) return 1;
        for (int size, n = 0; n < 64 && (size = (int)read(device, data, sizeof data)) > 0; n++)
            take(data, size, one_way, loss);
        deliver(device);
        if (sources[1].revents) {
            char line[256];
            if (!fgets(line, sizeof line, stdin)) return 0;
            snapshot();
        }
    }
}
