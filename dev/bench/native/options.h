// What the load generator is told, and what it has measured.
#pragma once
#include "answer.h"
#include "clock.h"
#include "histogram.h"
#include <arpa/inet.h>
#include <getopt.h>
#include <stdio.h>
#include <sys/resource.h>

enum { MAX_TARGETS = 16, MAX_STATUS = 600 };

static struct {
  struct sockaddr_in targets[MAX_TARGETS];
  unsigned target_count, connections, token_length, token_count;
  double seconds, rate, ramp_seconds, measure_after_seconds, drain_seconds, patience_seconds;
  bool expects_done;
} options = {.connections = 1, .seconds = 1, .drain_seconds = 10};

static struct {
  unsigned long long requests, failed, broken, refused, unfinished, impatient, chunks, bytes;
  unsigned statuses[MAX_STATUS];
  struct histogram latency, first, lag, late, own_late, refusal;
  char first_failure[EXCERPT_BYTES + 64];
} result;

static char *request, *tokens;                   // the request as it goes out, and the bearer tokens to draw from
static size_t request_length, token_at;          // where in the request the token stands
static uint64_t started_ns, arrivals;

static char *read_file(const char *path, size_t *length) {
  FILE *file = fopen(path, "rb");
  if (!file || fseek(file, 0, SEEK_END)) {
    perror(path);
    exit(1);
  }
  *length = (size_t)ftell(file);
  rewind(file);
  char *text = malloc(*length + 1);
  if (!text || fread(text, 1, *length, file) != *length) exit(1);
  text[*length] = 0;
  fclose(file);
  return text;
}

static void read_request(const char *path) {
  request = read_file(path, &request_length);
  char *mark = memmem(request, request_length, "$TOKEN", 6);
  token_at = mark ? (size_t)(mark - request) : request_length;
  if (!mark) return;
  memmove(mark, mark + 6, request_length - token_at - 6);
  request_length -= 6;
}

static void read_tokens(const char *path) {
  size_t length;
  tokens = read_file(path, &length);
  char *end = strchr(tokens, '\n');
  options.token_length = (unsigned)(end ? (size_t)(end - tokens) : length);
  options.token_count = (unsigned)((length + 1) / (options.token_length + 1));
}

static void read_targets(char *list) {
  for (char *port = strtok(list, ","); port && options.target_count < MAX_TARGETS; port = strtok(NULL, ","))
    options.targets[options.target_count++] = (struct sockaddr_in){
        .sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port)), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

// Answers whether the arguments make sense.
static bool read_options(int argc, char **argv) {
  static const struct option names[] = {{"ports", 1, 0, 'p'},        {"request", 1, 0, 'q'}, {"tokens", 1, 0, 't'},
                                        {"connections", 1, 0, 'c'},  {"seconds", 1, 0, 's'}, {"rate", 1, 0, 'r'},
                                        {"ramp", 1, 0, 'm'},         {"after", 1, 0, 'a'},   {"drain", 1, 0, 'd'},
                                        {"expect-done", 0, 0, 'e'},  {"patience", 1, 0, 'w'}, {0}};
  for (int name; (name = getopt_long(argc, argv, "", names, NULL)) != -1;) switch (name) {
    case 'p': read_targets(optarg); break;
    case 'q': read_request(optarg); break;
    case 't': read_tokens(optarg); break;
    case 'c': options.connections = (unsigned)atoi(optarg); break;
    case 's': options.seconds = atof(optarg); break;
    case 'r': options.rate = atof(optarg); break;
    case 'm': options.ramp_seconds = atof(optarg); break;
    case 'a': options.measure_after_seconds = atof(optarg); break;
    case 'd': options.drain_seconds = atof(optarg); break;
    case 'e': options.expects_done = true; break;
    case 'w': options.patience_seconds = atof(optarg); break;
    default: return false;
    }
  return request && options.target_count > 0 && options.connections > 0;
}

static int print_result(void) {
  struct rusage own;
  getrusage(RUSAGE_SELF, &own);
  double cpu = (double)own.ru_utime.tv_sec + (double)own.ru_stime.tv_sec + (double)(own.ru_utime.tv_usec + own.ru_stime.tv_usec) / 1e6;
  printf("{\"seconds\":%.4f,\"requests\":%llu,\"failed\":%llu,\"broken\":%llu,\"refused\":%llu,\"unfinished\":%llu,\"unsent\":%lld,\"impatient\":%llu,"
         "\"chunks\":%llu,\"bytes\":%llu,\"cpuSeconds\":%.4f,\"statuses\":{",
         (double)(now_ns() - started_ns) / 1e9, result.requests, result.failed, result.broken, result.refused, result.unfinished,
         options.rate > 0 ? (long long)(options.seconds * options.rate) - (long long)arrivals : 0, result.impatient, result.chunks, result.bytes, cpu);
  const char *comma = "";
  for (int status = 0; status < MAX_STATUS; status++)
    if (result.statuses[status]) printf("%s\"%d\":%u", comma, status, result.statuses[status]), comma = ",";
  printf("},");
  histogram_print("latency", &result.latency);
  printf(",");
  histogram_print("firstByte", &result.first);
  printf(",");
  histogram_print("lag", &result.lag);
  printf(",");
  histogram_print("sendLate", &result.late);
  printf(",");
  histogram_print("ownLate", &result.own_late);
  printf(",");
  histogram_print("refusal", &result.refusal);
  printf(",\"firstFailure\":\"");
  for (const char *c = result.first_failure; *c; c++) {
    if (*c == '"' || *c == '\\') printf("\\%c", *c);
    else if ((unsigned char)*c >= ' ') putchar(*c);
    else putchar(' ');
  }
  printf("\"}\n");
  return 0;
}

