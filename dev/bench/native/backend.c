// An inference backend that costs next to nothing: one thread, epoll, answers made once and copied out.
//
// It speaks the OpenAI wire format: chat completions and Responses, plain and streamed, and plain Messages. It takes its
// orders from the prompt, so that every gateway in front of it can be used as it is: `bench chunks=100 every_us=50000 bytes=1000` anywhere in the body.
// Each chunk carries the moment at which it was written, `@<nanoseconds>@`, from which the reader tells its lag.
// SIGUSR1 prints what it has done so far as a line of JSON: the log against which a ledger can be compared.

#define _GNU_SOURCE
#include "clock.h"
#include "due.h"
#include "histogram.h"
#include "request.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

enum { READ_BYTES = 64 * 1024, MAX_EVENTS = 256, PROMPT_TOKENS = 20, MOST_CHUNK_CONTENT = 4096 };

struct connection {
  int fd;
  bool closed, wants_room;
  struct connection *next_closed;
  struct bytes in, out;
  size_t out_sent;
  // The stream that runs on it, if any.
  bool streaming, wants_usage;
  // Of a streamed response: its settings, which repeat the request's tools, its text so far, and its events.
  bool is_response;
  struct bytes settings, text;
  unsigned sequence;
  unsigned chunks_left, chunks, content_bytes;
  uint64_t every_ns;
  struct due due;
};

static int epoll_fd, timer_fd;
static uint64_t timer_set_for;
static struct connection *closed_ones; // freed once no event of this turn can name them
static struct {
  unsigned long long plain, streams_ended, streams_cut, chunks, running;
} done;
static struct histogram lateness; // of chunks, against their own schedule

// --- answering

static void close_connection(struct connection *c) {
  if (c->closed) return;
  c->closed = true;
  if (c->streaming) {
    done.running--;
    done.streams_cut++;
  }
  due_remove(&c->due);
  close(c->fd);
  c->next_closed = closed_ones;
  closed_ones = c;
}

static void free_closed(void) {
  for (struct connection *c; (c = closed_ones);) {
    closed_ones = c->next_closed;
    free(c->in.data);
    free(c->out.data);
    free(c->settings.data);
    free(c->text.data);
    free(c);
  }
}

static void flush_out(struct connection *c) {
  while (c->out_sent < c->out.length) {
    ssize_t n = send(c->fd, c->out.data + c->out_sent, c->out.length - c->out_sent, MSG_NOSIGNAL);
    if (n < 0 && errno == EAGAIN) break;
    if (n < 0) return close_connection(c);
    c->out_sent += (size_t)n;
  }
  bool wants_room = c->out_sent < c->out.length;
  if (!wants_room) c->out.length = c->out_sent = 0;
  if (wants_room == c->wants_room) return;
  c->wants_room = wants_room;
  struct epoll_event e = {.events = EPOLLIN | (wants_room ? EPOLLOUT : 0), .data.ptr = c};
  epoll_ctl(epoll_fd, EPOLL_CTL_MOD, c->fd, &e);
}

static const char *words(unsigned count) {
  static char text[MAX_CONTENT + 1];
  if (!text[0])
    for (unsigned i = 0; i < MAX_CONTENT; i++) text[i] = "the quick brown fox jumps over it "[i % 34];
  return text + MAX_CONTENT - count;
}

static unsigned tokens_of(unsigned content_bytes) { return content_bytes / 4 + 1; }

// The bodies of the three APIs: the text, then the tokens of the prompt, of the answer, and of both.
static const char CHAT[] =
    "{\"id\":\"chatcmpl-bench\",\"object\":\"chat.completion\",\"created\":1700000000,\"model\":\"bench\","
    "\"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\",\"content\":\"%s\"},"
    "\"logprobs\":null,\"finish_reason\":\"stop\"}],"
    "\"usage\":{\"prompt_tokens\":%d,\"completion_tokens\":%u,\"total_tokens\":%u}}";
static const char MESSAGES[] =
    "{\"id\":\"msg_bench\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"bench\","
    "\"content\":[{\"type\":\"text\",\"text\":\"%s\"}],\"stop_reason\":\"end_turn\",\"stop_sequence\":null,"
    "\"usage\":{\"input_tokens\":%d,\"output_tokens\":%u}}";
// A gateway has no gap to fill in it: each member of the API is there.
static const char RESPONSES[] =
    "{\"id\":\"resp_bench\",\"object\":\"response\",\"created_at\":1700000000,\"completed_at\":1700000001,"
    "\"status\":\"completed\",\"model\":\"bench\",\"error\":null,\"incomplete_details\":null,\"background\":false,"
    "\"instructions\":null,\"max_output_tokens\":1000,\"max_tool_calls\":null,\"metadata\":{},\"parallel_tool_calls\":true,"
    "\"frequency_penalty\":0,\"presence_penalty\":0,\"previous_response_id\":null,\"prompt_cache_key\":null,"
    "\"reasoning\":{\"effort\":null,\"summary\":null},\"safety_identifier\":null,\"service_tier\":\"default\","
    "\"store\":false,\"temperature\":1,\"text\":{\"format\":{\"type\":\"text\"}},\"tool_choice\":\"auto\",\"tools\":[],"
    "\"top_logprobs\":0,\"top_p\":1,\"truncation\":\"disabled\","
    "\"output\":[{\"id\":\"msg_bench\",\"type\":\"message\",\"status\":\"completed\",\"role\":\"assistant\","
    "\"content\":[{\"type\":\"output_text\",\"text\":\"%s\",\"annotations\":[]}]}],"
    "\"usage\":{\"input_tokens\":%d,\"input_tokens_details\":{\"cached_tokens\":0},\"output_tokens\":%u,"
    "\"output_tokens_details\":{\"reasoning_tokens\":0},\"total_tokens\":%u}}";

static const char *form_for(const char *request) {
  if (strncmp(request, "POST /v1/messages ", 18) == 0) return MESSAGES;
  return strncmp(request, "POST /v1/responses ", 19) == 0 ? RESPONSES : CHAT;
}

static void answer_plain(struct connection *c, struct order o, const char *form) {
  static char body[MAX_CONTENT + 1024], head[256];
  unsigned tokens = tokens_of(o.bytes);
  int n = snprintf(body, sizeof body, form, words(o.bytes), PROMPT_TOKENS, tokens, tokens + PROMPT_TOKENS);
  int h = snprintf(head, sizeof head,
                   "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n", n);
  append(&c->out, head, (size_t)h);
  append(&c->out, body, (size_t)n);
  done.plain++;
  flush_out(c);
}

static void append_event(struct bytes *out, const char *event, int length) {
  char size[16];
  int n = snprintf(size, sizeof size, "%x\r\n", (unsigned)length);
  append(out, size, (size_t)n);
  append(out, event, (size_t)length);
  append(out, "\r\n", 2);
}

#define EVENT "data: {\"id\":\"chatcmpl-bench\",\"object\":\"chat.completion.chunk\",\"created\":1700000000,\"model\":\"bench\","

static void write_chunk(struct connection *c) {
  char event[1024 + MOST_CHUNK_CONTENT];
  unsigned padding = c->content_bytes > MOST_CHUNK_CONTENT ? MOST_CHUNK_CONTENT : c->content_bytes;
  int n = snprintf(event, sizeof event, EVENT "\"choices\":[{\"index\":0,\"delta\":{%s\"content\":\"@%020llu@%s\"},\"finish_reason\":null}]}\n\n",
                   c->chunks_left == c->chunks ? "\"role\":\"assistant\"," : "", (unsigned long long)now_ns(), words(padding));
  append_event(&c->out, event, n);
  done.chunks++;
}

static void write_end(struct connection *c) {
  char event[512];
  int n = snprintf(event, sizeof event, EVENT "\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n");
  append_event(&c->out, event, n);
  if (c->wants_usage) {
    n = snprintf(event, sizeof event, EVENT "\"choices\":[],\"usage\":{\"prompt_tokens\":%d,\"completion_tokens\":%u,\"total_tokens\":%u}}\n\n",
                 PROMPT_TOKENS, c->chunks, c->chunks + PROMPT_TOKENS);
    append_event(&c->out, event, n);
  }
  append_event(&c->out, "data: [DONE]\n\n", 14);
}

// --- a streamed response: the events that OpenAI sends, in their order

static struct bytes event;

static void tell(const char *form, ...) {
  va_list values;
  va_start(values, form);
  reserve(&event, 1024 + MOST_CHUNK_CONTENT);
  event.length += (size_t)vsnprintf(event.data + event.length, 1024 + MOST_CHUNK_CONTENT, form, values);
  va_end(values);
}

static void begin_event(struct connection *c, const char *type) {
  event.length = 0;
  tell("event: %s\ndata: {\"type\":\"%s\",\"sequence_number\":%u", type, type, c->sequence++);
}

static void end_event(struct connection *c) {
  append(&event, "}\n\n", 3);
  append_event(&c->out, event.data, (int)event.length);
}

#define IN_ITEM ",\"item_id\":\"msg_bench\",\"output_index\":0,\"content_index\":0"

static void tell_text(struct connection *c) {
  append(&event, "\"", 1);
  append(&event, c->text.data, c->text.length);
  append(&event, "\"", 1);
}

static void tell_part(struct connection *c) {
  tell("{\"type\":\"output_text\",\"annotations\":[],\"logprobs\":[],\"text\":");
  tell_text(c);
  tell("}");
}

static void tell_item(struct connection *c, bool is_whole) {
  tell("{\"id\":\"msg_bench\",\"type\":\"message\",\"role\":\"assistant\",\"status\":\"%s\",\"content\":[",
       is_whole ? "completed" : "in_progress");
  if (is_whole) tell_part(c);
  tell("]}");
}

static void tell_response(struct connection *c, const char *type, bool is_whole) {
  begin_event(c, type);
  tell(",\"response\":{\"id\":\"resp_bench\",\"object\":\"response\",\"created_at\":1700000000,\"model\":\"bench\",\"error\":null,"
       "\"incomplete_details\":null,\"completed_at\":%s,\"status\":\"%s\",\"output\":[",
       is_whole ? "1700000001" : "null", is_whole ? "completed" : "in_progress");
  if (is_whole) tell_item(c, true);
  tell("],");
  append(&event, c->settings.data, c->settings.length);
  if (is_whole) tell(",\"usage\":{\"input_tokens\":%d,\"input_tokens_details\":{\"cached_tokens\":0},\"output_tokens\":%u,"
                     "\"output_tokens_details\":{\"reasoning_tokens\":0},\"total_tokens\":%u}",
                     PROMPT_TOKENS, c->chunks, c->chunks + PROMPT_TOKENS);
  else tell(",\"usage\":null");
  tell("}");
  end_event(c);
}

static void begin_response(struct connection *c, const char *body, size_t length) {
  static const char front[] = "\"background\":false,\"frequency_penalty\":0,\"instructions\":null,\"max_output_tokens\":1000,"
                              "\"max_tool_calls\":null,\"metadata\":{},\"parallel_tool_calls\":true,\"presence_penalty\":0,"
                              "\"previous_response_id\":null,\"prompt_cache_key\":null,\"reasoning\":{\"effort\":null,"
                              "\"summary\":null},\"safety_identifier\":null,\"service_tier\":\"default\",\"store\":false,"
                              "\"temperature\":1,\"text\":{\"format\":{\"type\":\"text\"}},\"tool_choice\":\"auto\","
                              "\"top_logprobs\":0,\"top_p\":1,\"truncation\":\"disabled\",\"user\":null,\"tools\":";
  size_t tools_length;
  const char *tools = tools_in(body, length, &tools_length);
  c->settings.length = c->text.length = c->sequence = 0;
  append(&c->settings, front, sizeof front - 1);
  append(&c->settings, tools, tools_length);
  tell_response(c, "response.created", false);
  tell_response(c, "response.in_progress", false);
  begin_event(c, "response.output_item.added");
  tell(",\"output_index\":0,\"item\":");
  tell_item(c, false);
  end_event(c);
  begin_event(c, "response.content_part.added");
  tell(IN_ITEM ",\"part\":");
  tell_part(c);
  end_event(c);
}

static void write_delta(struct connection *c) {
  unsigned padding = c->content_bytes > MOST_CHUNK_CONTENT ? MOST_CHUNK_CONTENT : c->content_bytes;
  size_t from = c->text.length;
  char stamp[32];
  append(&c->text, stamp, (size_t)snprintf(stamp, sizeof stamp, "@%020llu@", (unsigned long long)now_ns()));
  append(&c->text, words(padding), padding);
  begin_event(c, "response.output_text.delta");
  tell(IN_ITEM ",\"logprobs\":[],\"delta\":\"");
  append(&event, c->text.data + from, c->text.length - from);
  tell("\"");
  end_event(c);
  done.chunks++;
}

static void end_response(struct connection *c) {
  begin_event(c, "response.output_text.done");
  tell(IN_ITEM ",\"logprobs\":[],\"text\":");
  tell_text(c);
  end_event(c);
  begin_event(c, "response.content_part.done");
  tell(IN_ITEM ",\"part\":");
  tell_part(c);
  end_event(c);
  begin_event(c, "response.output_item.done");
  tell(",\"output_index\":0,\"item\":");
  tell_item(c, true);
  end_event(c);
  tell_response(c, "response.completed", true);
}

static void next_chunk(struct connection *c, uint64_t now) {
  histogram_add(&lateness, now - c->due.at_ns);
  (c->is_response ? write_delta : write_chunk)(c);
  if (--c->chunks_left == 0) {
    (c->is_response ? end_response : write_end)(c);
    append(&c->out, "0\r\n\r\n", 5);
    c->streaming = false;
    done.running--;
    done.streams_ended++;
  } else {
    c->due.at_ns += c->every_ns;
    due_add(&c->due);
  }
  flush_out(c);
}

static void answer_stream(struct connection *c, struct order o, const char *method, const char *body, size_t length) {
  static const char head[] = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
  append(&c->out, head, sizeof head - 1);
  c->streaming = true;
  c->wants_usage = has(body, length, "\"include_usage\":true", "\"include_usage\": true");
  c->chunks = c->chunks_left = o.chunks ? o.chunks : 1;
  c->content_bytes = o.bytes;
  c->every_ns = (uint64_t)o.every_us * 1000u;
  c->is_response = form_for(method) == RESPONSES;
  if (c->is_response) begin_response(c, body, length);
  done.running++;
  uint64_t now = now_ns();
  c->due.at_ns = now + (uint64_t)o.first_us * 1000u;
  if (o.first_us == 0) next_chunk(c, now);
  else {
    flush_out(c);
    if (!c->closed) due_add(&c->due);
  }
}

// --- reading

// `method`: the beginning of the request.
static void answer(struct connection *c, const char *method, const char *body, size_t length) {
  if (method[0] != 'P') {
    static const char models[] = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 61\r\n\r\n"
                                 "{\"object\":\"list\",\"data\":[{\"id\":\"bench\",\"object\":\"model\"}   ]}";
    append(&c->out, models, sizeof models - 1);
    return flush_out(c);
  }
  struct order o = read_order(body, length);
  if (has(body, length, "\"stream\":true", "\"stream\": true"))
    answer_stream(c, o, method, body, length);
  else answer_plain(c, o, form_for(method));
}

static void read_requests(struct connection *c) {
  for (;;) {
    reserve(&c->in, READ_BYTES);
    ssize_t n = recv(c->fd, c->in.data + c->in.length, c->in.room - c->in.length, 0);
    if (n < 0 && errno == EAGAIN) break;
    if (n <= 0) return close_connection(c);
    c->in.length += (size_t)n;
    if ((size_t)n < READ_BYTES) break;
  }
  const char *body;
  size_t body_length, taken;
  // One at a time: a gateway that pipelines onto a running stream is not served before that has ended.
  while (!c->closed && !c->streaming && c->in.length > 0 && (taken = whole_request(&c->in, &body, &body_length)) > 0) {
    answer(c, c->in.data, body, body_length);
    memmove(c->in.data, c->in.data + taken, c->in.length - taken);
    c->in.length -= taken;
  }
}

static void accept_all(int listener) {
  int fd;
  while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
    int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    struct connection *c = calloc(1, sizeof *c);
    if (!c) abort();
    c->fd = fd;
    c->due.index = -1;
    struct epoll_event e = {.events = EPOLLIN, .data.ptr = c};
    epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &e);
  }
}

static void run_due_chunks(void) {
  uint64_t now = now_ns();
  struct due *first;
  while ((first = due_first()) && first->at_ns <= now) {
    due_remove(first);
    next_chunk((struct connection *)((char *)first - offsetof(struct connection, due)), now);
  }
  if (!first || first->at_ns == timer_set_for) return;
  timer_set_for = first->at_ns;
  struct itimerspec at = {.it_value = {(time_t)(timer_set_for / 1000000000u), (long)(timer_set_for % 1000000000u)}};
  timerfd_settime(timer_fd, TFD_TIMER_ABSTIME, &at, NULL);
}

static void print_counts(void) {
  printf("{\"plain\":%llu,\"streamsEnded\":%llu,\"streamsCut\":%llu,\"chunks\":%llu,\"running\":%llu,", done.plain,
         done.streams_ended, done.streams_cut, done.chunks, done.running);
  histogram_print("lateness", &lateness);
  printf("}\n");
  fflush(stdout);
  memset(&lateness, 0, sizeof lateness);
}

static int listen_on(unsigned port) {
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), on = 1;
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  socklen_t size = sizeof address;
  if (bind(fd, (void *)&address, size) || listen(fd, 4096) || getsockname(fd, (void *)&address, &size)) {
    perror("listening");
    exit(1);
  }
  printf("{\"port\":%d}\n", ntohs(address.sin_port));
  fflush(stdout);
  return fd;
}

static int watch(int fd, void *name) {
  struct epoll_event e = {.events = EPOLLIN, .data.ptr = name};
  epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &e);
  return fd;
}

int main(int argc, char **argv) {
  static char listening, timing, asked;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  sigset_t usr1;
  sigemptyset(&usr1);
  sigaddset(&usr1, SIGUSR1);
  sigprocmask(SIG_BLOCK, &usr1, NULL);
  epoll_fd = epoll_create1(EPOLL_CLOEXEC);
  int listener = watch(listen_on(argc > 1 ? (unsigned)atoi(argv[1]) : 0), &listening);
  timer_fd = watch(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC), &timing);
  int signals = watch(signalfd(-1, &usr1, SFD_NONBLOCK | SFD_CLOEXEC), &asked);
  struct epoll_event events[MAX_EVENTS];
  for (;;) {
    int count = epoll_wait(epoll_fd, events, MAX_EVENTS, -1);
    for (int i = 0; i < count; i++) {
      void *name = events[i].data.ptr;
      if (name == &listening) accept_all(listener);
      else if (name == &timing) {
        uint64_t expirations;
        if (read(timer_fd, &expirations, sizeof expirations) > 0) timer_set_for = 0;
      } else if (name == &asked) {
        struct signalfd_siginfo info;
        while (read(signals, &info, sizeof info) > 0) print_counts();
      } else {
        struct connection *c = name;
        if (!c->closed && events[i].events & EPOLLOUT) flush_out(c);
        if (!c->closed && events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR)) read_requests(c);
      }
    }
    run_due_chunks();
    free_closed();
  }
}
