// Reads what the backend is asked: whole HTTP requests, and the orders in their prompts.
#pragma once
#include "bytes.h"
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_CONTENT = 4 * 1024 * 1024 };

struct order {
  unsigned chunks, every_us, bytes, first_us;
};

static unsigned number_after(const char *text, size_t length, const char *name, unsigned otherwise) {
  const char *at = memmem(text, length, name, strlen(name));
  return at ? (unsigned)strtoul(at + strlen(name), NULL, 10) : otherwise;
}

static struct order read_order(const char *body, size_t length) {
  struct order o = {.chunks = 10, .every_us = 0, .bytes = 1000, .first_us = 0};
  const char *at = memmem(body, length, "bench chunks=", 13);
  if (!at) return o;
  size_t rest = length - (size_t)(at - body);
  if (rest > 200) rest = 200;
  o.chunks = number_after(at, rest, "chunks=", o.chunks);
  o.every_us = number_after(at, rest, "every_us=", o.every_us);
  o.bytes = number_after(at, rest, "bytes=", o.bytes);
  o.first_us = number_after(at, rest, "first_us=", o.first_us);
  if (o.bytes > MAX_CONTENT) o.bytes = MAX_CONTENT;
  return o;
}

static bool has(const char *text, size_t length, const char *tight, const char *spaced) {
  return memmem(text, length, tight, strlen(tight)) || memmem(text, length, spaced, strlen(spaced));
}

// The array of tools in a request; an empty one where there is none.
static const char *tools_in(const char *body, size_t length, size_t *tools_length) {
  static const char name[] = "\"tools\":";
  const char *tools = memmem(body, length, name, sizeof name - 1), *end = body + length;
  *tools_length = 2;
  if (!tools) return "[]";
  tools += sizeof name - 1;
  int depth = 0;
  bool in_text = false;
  for (const char *at = tools; at < end; at++) {
    if (in_text && *at == '\\') at++;
    else if (*at == '"') in_text = !in_text;
    else if (!in_text && (*at == '[' || *at == '{')) depth++;
    else if (!in_text && (*at == ']' || *at == '}') && --depth == 0) return *tools_length = (size_t)(at + 1 - tools), tools;
  }
  return "[]";
}

// The length of the whole request at the front of `in`, 0 while it is incomplete; its body is between the two pointers.
static size_t whole_request(struct bytes *in, const char **body, size_t *body_length) {
  char *end = memmem(in->data, in->length, "\r\n\r\n", 4);
  if (!end) return 0;
  size_t head = (size_t)(end - in->data) + 4;
  *body = in->data + head;
  *body_length = 0;
  char saved = *end;
  *end = 0;
  const char *length = strcasestr(in->data, "\r\ncontent-length:");
  bool chunked = strcasestr(in->data, "\r\ntransfer-encoding:") != NULL;
  *end = saved;
  if (chunked) {
    const char *last = memmem(*body, in->length - head, "0\r\n\r\n", 5);
    if (last) *body_length = (size_t)(last - *body);
    return last ? head + *body_length + 5 : 0;
  }
  if (length) *body_length = strtoul(length + 17, NULL, 10);
  return in->length >= head + *body_length ? head + *body_length : 0;
}
