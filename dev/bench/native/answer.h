// Reads HTTP/1.1 answers piece by piece: where one ends, what its content says. Nothing is kept but a few counters.
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { HEAD_BYTES = 16 * 1024, EXCERPT_BYTES = 400 };
enum phase { HEAD, SIZED, CHUNK_SIZE, CHUNK, CHUNK_END, TRAILER, UNTIL_CLOSE, COMPLETE, BROKEN };

struct answer {
  enum phase phase;
  int status;
  bool keeps_alive;
  size_t head_length, left;
  uint64_t content_bytes;
  unsigned line_length; // of the trailer's current line
  // The stamp `@<nanoseconds>@` that is being read.
  bool in_stamp;
  unsigned stamp_digits;
  uint64_t stamp;
  unsigned done_matched; // characters of `[DONE]` that match so far
  bool says_done;
  char head[HEAD_BYTES];
  unsigned excerpt_length;
  char excerpt[EXCERPT_BYTES + 1];
};

// Called with each stamp found in the content.
typedef void on_stamp(void *context, uint64_t stamp);

static inline void answer_begin(struct answer *a) {
  a->phase = HEAD;
  a->status = 0;
  a->keeps_alive = true;
  a->head_length = a->left = 0;
  a->content_bytes = 0;
  a->in_stamp = a->says_done = false;
  a->done_matched = a->excerpt_length = 0;
}

static inline void read_head(struct answer *a) {
  a->head[a->head_length] = 0;
  a->status = strncmp(a->head, "HTTP/1.", 7) == 0 ? atoi(a->head + 9) : 0;
  const char *length = strcasestr(a->head, "\r\ncontent-length:");
  bool chunked = strcasestr(a->head, "\r\ntransfer-encoding: chunked") != NULL;
  a->keeps_alive = strcasestr(a->head, "\r\nconnection: close") == NULL;
  a->left = length ? strtoull(length + 17, NULL, 10) : 0;
  if (a->status == 0) a->phase = BROKEN;
  else if (chunked) a->phase = CHUNK_SIZE;
  else if (!length) a->phase = UNTIL_CLOSE;
  else a->phase = a->left == 0 ? COMPLETE : SIZED;
}

static inline void read_content(struct answer *a, const char *data, size_t length, on_stamp *stamped, void *context) {
  a->content_bytes += length;
  if (a->status != 200) {
    unsigned more = EXCERPT_BYTES - a->excerpt_length;
    if (more > length) more = (unsigned)length;
    memcpy(a->excerpt + a->excerpt_length, data, more);
    a->excerpt_length += more;
    a->excerpt[a->excerpt_length] = 0;
    return;
  }
  const char *end = data + length;
  for (const char *at = data; at < end; at++) {
    if (a->in_stamp) {
      if (*at >= '0' && *at <= '9' && a->stamp_digits < 20) {
        a->stamp = a->stamp * 10 + (uint64_t)(*at - '0');
        a->stamp_digits++;
        continue;
      }
      if (*at == '@' && a->stamp_digits == 20) stamped(context, a->stamp);
      a->in_stamp = false;
    } else if (*at == '@') {
      a->in_stamp = true;
      a->stamp = a->stamp_digits = 0;
    } else if (*at == "[DONE]"[a->done_matched]) {
      if (++a->done_matched == 6) a->says_done = true, a->done_matched = 0;
    } else a->done_matched = *at == '[';
  }
}

// Takes what was read. Answers how much of it belongs to this answer.
static inline size_t answer_read(struct answer *a, const char *data, size_t length, on_stamp *stamped, void *context) {
  size_t at = 0;
  while (at < length && a->phase != COMPLETE && a->phase != BROKEN) {
    char c = data[at];
    size_t piece = length - at;
    switch (a->phase) {
    case HEAD:
      if (a->head_length == HEAD_BYTES - 1) a->phase = BROKEN;
      a->head[a->head_length++] = c;
      at++;
      if (c == '\n' && a->head_length >= 4 && memcmp(a->head + a->head_length - 4, "\r\n\r\n", 4) == 0) read_head(a);
      break;
    case SIZED:
    case CHUNK:
    case UNTIL_CLOSE:
      if (a->phase != UNTIL_CLOSE && piece > a->left) piece = a->left;
      read_content(a, data + at, piece, stamped, context);
      at += piece;
      if (a->phase == UNTIL_CLOSE) break;
      a->left -= piece;
      if (a->left == 0) a->phase = a->phase == SIZED ? COMPLETE : CHUNK_END;
      break;
    case CHUNK_SIZE:
      at++;
      if (c >= '0' && c <= '9') a->left = a->left * 16 + (size_t)(c - '0');
      else if ((c | 32) >= 'a' && (c | 32) <= 'f') a->left = a->left * 16 + (size_t)((c | 32) - 'a' + 10);
      else if (c == '\n') {
        a->phase = a->left == 0 ? TRAILER : CHUNK;
        a->line_length = 0;
      } else if (c != '\r') a->phase = BROKEN;
      break;
    case CHUNK_END:
      at++;
      if (c == '\n') a->phase = CHUNK_SIZE;
      break;
    case TRAILER:
      at++;
      if (c == '\n' && a->line_length == 0) a->phase = COMPLETE;
      else if (c == '\n') a->line_length = 0;
      else if (c != '\r') a->line_length++;
      break;
    default: break;
    }
  }
  return at;
}
