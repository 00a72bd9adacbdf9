// A load generator that costs little and measures honestly: one thread, epoll, kept-alive connections.
//
// Closed loop: each connection asks again as soon as it was answered; tells what a server can do.
// Open loop (--rate): from the end of the ramp requests are due at even distances whatever the server does, wait for a free
// connection when all are busy, and their latency counts from when they were due: a server that stalls is charged for all
// whom it kept waiting.
// With --patience a client gives up so long after its request was due, and closes its connection. Clients then do not
// stand in line for connections: one that finds none free gives up at once.
// How late the generator's own timers were is told apart (ownLate): that much of a latency may be the generator's.
// After --seconds nothing new is asked and what runs may finish. The result is one line of JSON.

#define _GNU_SOURCE
#include "options.h"
#include <errno.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <signal.h>
#include <unistd.h>

enum { READ_BYTES = 256 * 1024, MAX_EVENTS = 512, RECONNECT_MS = 20 };

struct connection {
  int fd;
  bool connected, busy, wants_room;
  unsigned target;
  size_t sent;
  uint64_t due_ns, retry_ns; // when its request was due; when to connect again
  unsigned stamps;
  const char *token;
  struct connection *earlier, *later; // among those that are asked
  struct answer answer;
};

static struct connection *connections, **idle, *first_due, *last_due;
static unsigned idle_count, busy_count, lost_count;
static int epoll_fd;
static uint64_t measure_from_ns, stop_ns, patience_ns, random_state = 88172645463325252u;
static bool stopping;

static uint64_t next_random(void) {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  return random_state ^= random_state << 17;
}

static void fail(struct connection *c, const char *why) {
  result.failed++;
  if (!result.first_failure[0])
    snprintf(result.first_failure, sizeof result.first_failure, "%s %d: %s", why, c->answer.status, c->answer.excerpt);
}

static void stamped(void *context, uint64_t stamp) {
  struct connection *c = context;
  uint64_t now = now_ns();
  if (c->stamps++ == 0 && c->due_ns >= measure_from_ns) histogram_add(&result.first, now - c->due_ns);
  if (now >= measure_from_ns && now > stamp) histogram_add(&result.lag, now - stamp);
  result.chunks++;
}

// --- sending

static void watch(struct connection *c, int operation, bool wants_room) {
  struct epoll_event e = {.events = EPOLLIN | (wants_room ? EPOLLOUT : 0), .data.ptr = c};
  c->wants_room = wants_room;
  epoll_ctl(epoll_fd, operation, c->fd, &e);
}

static void open_connection(struct connection *c) {
  c->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  int on = 1;
  setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  c->connected = false;
  if (connect(c->fd, (void *)&options.targets[c->target], sizeof options.targets[0]) && errno != EINPROGRESS) {
    perror("connecting");
    exit(1);
  }
  watch(c, EPOLL_CTL_ADD, true);
}

static void release(struct connection *c) {
  if (!c->busy) return;
  busy_count--;
  c->busy = false;
  *(c->earlier ? &c->earlier->later : &first_due) = c->later;
  *(c->later ? &c->later->earlier : &last_due) = c->earlier;
}

static void reopen(struct connection *c) {
  close(c->fd);
  c->fd = -1;
  c->connected = false;
  release(c);
  if (!stopping) open_connection(c);
}

static size_t gather(struct connection *c, struct iovec *parts) {
  struct iovec whole[3] = {{request, token_at}, {(void *)c->token, options.token_length}, {request + token_at, request_length - token_at}};
  size_t skip = c->sent, count = 0;
  for (int i = 0; i < 3; i++) {
    if (skip >= whole[i].iov_len) {
      skip -= whole[i].iov_len;
      continue;
    }
    parts[count].iov_base = (char *)whole[i].iov_base + skip;
    parts[count++].iov_len = whole[i].iov_len - skip;
    skip = 0;
  }
  return count;
}

static void send_rest(struct connection *c) {
  size_t whole = request_length + options.token_length;
  while (c->sent < whole) {
    struct iovec parts[3];
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = gather(c, parts)};
    ssize_t n = sendmsg(c->fd, &message, MSG_NOSIGNAL);
    if (n < 0) break; // full, or gone: then reading tells
    c->sent += (size_t)n;
  }
  if ((c->sent < whole) != c->wants_room) watch(c, EPOLL_CTL_MOD, c->sent < whole);
}

static void ask(struct connection *c, uint64_t due_ns) {
  c->busy = true;
  busy_count++;
  c->due_ns = due_ns;
  c->earlier = last_due;
  c->later = NULL;
  *(last_due ? &last_due->later : &first_due) = c;
  last_due = c;
  c->sent = c->stamps = 0;
  c->token = options.token_count ? tokens + (next_random() % options.token_count) * (options.token_length + 1) : "";
  answer_begin(&c->answer);
  send_rest(c);
}

static uint64_t ramp_ns(void) { return (uint64_t)(options.ramp_seconds * 1e9); }

static uint64_t due_of(uint64_t arrival) { return started_ns + ramp_ns() + (uint64_t)((double)arrival * 1e9 / options.rate); }

// Each in its turn: a server closes connections that stay unused, and may just be doing so when one is used at last.
static struct connection *longest_idle(void) {
  struct connection *c = idle[0];
  memmove(idle, idle + 1, --idle_count * sizeof *idle);
  return c;
}

// Open loop: sends what is due, as long as a connection is free. What is not sent waits, and its clock runs, unless clients
// have a patience.
static void send_due(void) {
  uint64_t now = now_ns();
  while (!stopping && due_of(arrivals) <= now && due_of(arrivals) < stop_ns) {
    if (idle_count == 0 && patience_ns == 0) break;
    if (idle_count == 0) {
      arrivals++;
      result.impatient++;
      continue;
    }
    struct connection *c = longest_idle();
    uint64_t due = due_of(arrivals++);
    if (due >= measure_from_ns) histogram_add(&result.late, now - due);
    ask(c, due);
  }
}

static void became_free(struct connection *c) {
  if (options.rate > 0) {
    idle[idle_count++] = c;
    send_due();
  } else if (!stopping) ask(c, now_ns());
}

// --- receiving

static void answered(struct connection *c) {
  struct answer *a = &c->answer;
  result.requests++;
  result.bytes += a->content_bytes;
  if (a->status < MAX_STATUS) result.statuses[a->status]++;
  if (a->status == 503 || a->status == 429) histogram_add(&result.refusal, now_ns() - c->due_ns);
  if (a->status != 200) fail(c, "status");
  else if (options.expects_done && !a->says_done) fail(c, "a stream without [DONE], status");
  else if (c->due_ns >= measure_from_ns) histogram_add(&result.latency, now_ns() - c->due_ns);
  release(c);
  if (a->keeps_alive) became_free(c);
  else reopen(c);
}

static void lost(struct connection *c) {
  if (c->answer.phase == UNTIL_CLOSE && c->busy) {
    c->answer.keeps_alive = false;
    return answered(c);
  }
  if (!c->connected) result.refused++;
  else if (c->busy) {
    result.broken++;
    fail(c, "the connection was closed, status");
  }
  close(c->fd);
  c->fd = -1;
  bool was_idle = c->connected && !c->busy;
  release(c);
  c->connected = false;
  if (was_idle && options.rate > 0)
    for (unsigned i = 0; i < idle_count; i++)
      if (idle[i] == c) idle[i--] = idle[--idle_count];
  c->retry_ns = now_ns() + RECONNECT_MS * 1000000u;
  lost_count++;
}

static void receive(struct connection *c) {
  static char buffer[READ_BYTES];
  for (;;) {
    ssize_t n = recv(c->fd, buffer, sizeof buffer, 0);
    if (n < 0 && errno == EAGAIN) return;
    if (n <= 0) return lost(c);
    if (!c->busy) return lost(c); // nobody asked for this
    if (c->stamps == 0 && !options.expects_done && c->answer.content_bytes == 0 && c->due_ns >= measure_from_ns)
      histogram_add(&result.first, now_ns() - c->due_ns);
    answer_read(&c->answer, buffer, (size_t)n, stamped, c);
    if (c->answer.phase == BROKEN) return lost(c);
    if (c->answer.phase == COMPLETE) return answered(c);
    if ((size_t)n < sizeof buffer) return;
  }
}

static void on_event(struct connection *c, uint32_t events) {
  if (c->fd < 0) return;
  if (events & EPOLLOUT) {
    if (!c->connected) {
      int error = 0;
      socklen_t size = sizeof error;
      getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &error, &size);
      if (error) return lost(c);
      c->connected = true;
      watch(c, EPOLL_CTL_MOD, false);
      became_free(c);
    } else if (c->busy) send_rest(c);
  }
  if (c->fd >= 0 && events & (EPOLLIN | EPOLLHUP | EPOLLERR)) receive(c);
}

// Requests are asked in the order in which they are due, so the first has waited the longest.
static void give_up(uint64_t now) {
  for (struct connection *c; patience_ns && (c = first_due) && now - c->due_ns > patience_ns;) {
    result.impatient++;
    reopen(c);
  }
}

// --- the run

static void arm(int timer, uint64_t at_ns) {
  struct itimerspec at = {.it_value = {(time_t)(at_ns / 1000000000u), (long)(at_ns % 1000000000u)}};
  timerfd_settime(timer, TFD_TIMER_ABSTIME, &at, NULL);
}

// Connections that are to be opened now: at first along the ramp, later those that were lost.
static uint64_t open_due(unsigned *opened) {
  uint64_t now = now_ns(), next = UINT64_MAX;
  for (; *opened < options.connections; (*opened)++) {
    uint64_t due = started_ns + ramp_ns() * *opened / options.connections;
    if (due > now) {
      next = due;
      break;
    }
    connections[*opened].target = *opened % options.target_count;
    open_connection(&connections[*opened]);
  }
  for (unsigned i = 0; lost_count > 0 && i < *opened; i++) {
    if (connections[i].fd >= 0) continue;
    if (connections[i].retry_ns <= now) {
      lost_count--;
      open_connection(&connections[i]);
    } else if (connections[i].retry_ns < next) next = connections[i].retry_ns;
  }
  return next;
}

static void run(void) {
  epoll_fd = epoll_create1(EPOLL_CLOEXEC);
  static char timing;
  int timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
  struct epoll_event events[MAX_EVENTS], e = {.events = EPOLLIN, .data.ptr = &timing};
  epoll_ctl(epoll_fd, EPOLL_CTL_ADD, timer, &e);
  started_ns = now_ns();
  stop_ns = started_ns + (uint64_t)(options.seconds * 1e9) + (options.rate > 0 ? ramp_ns() : 0);
  patience_ns = (uint64_t)(options.patience_seconds * 1e9);
  measure_from_ns = started_ns + (uint64_t)(options.measure_after_seconds * 1e9);
  uint64_t give_up_ns = stop_ns + (uint64_t)(options.drain_seconds * 1e9);
  uint64_t next = UINT64_MAX;
  unsigned opened = 0;
  for (;;) {
    uint64_t now = now_ns();
    if (now >= next) histogram_add(&result.own_late, now - next);
    give_up(now);
    next = stopping ? give_up_ns : stop_ns;
    // An open loop goes on until all that was due is sent: what waits is not forgotten.
    stopping = now >= stop_ns && (options.rate <= 0 || due_of(arrivals) >= stop_ns);
    if (now >= give_up_ns || (stopping && busy_count == 0)) break;
    if (!stopping) {
      uint64_t open_next = open_due(&opened);
      if (open_next < next) next = open_next;
      if (options.rate > 0) {
        send_due();
        if ((idle_count > 0 || patience_ns) && due_of(arrivals) < next) next = due_of(arrivals);
      }
    }
    if (patience_ns && first_due && first_due->due_ns + patience_ns < next) next = first_due->due_ns + patience_ns;
    if (next <= now) next = give_up_ns;
    arm(timer, next);
    int count = epoll_wait(epoll_fd, events, MAX_EVENTS, -1);
    for (int i = 0; i < count; i++) {
      uint64_t expirations;
      if (events[i].data.ptr != &timing) on_event(events[i].data.ptr, events[i].events);
      else if (read(timer, &expirations, sizeof expirations) < 0) continue;
    }
  }
  result.unfinished = busy_count;
}

int main(int argc, char **argv) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (!read_options(argc, argv)) return 2;
  connections = calloc(options.connections, sizeof *connections);
  idle = calloc(options.connections, sizeof *idle);
  if (!connections || !idle) return 1;
  run();
  return print_result();
}
