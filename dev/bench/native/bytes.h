// Bytes that grow at the end.
#pragma once
#include <stdlib.h>
#include <string.h>

struct bytes {
  char *data;
  size_t length, room;
};

static void reserve(struct bytes *b, size_t more) {
  if (b->length + more <= b->room) return;
  b->room = (b->length + more) * 2;
  b->data = realloc(b->data, b->room);
  if (!b->data) abort();
}

static void append(struct bytes *b, const void *data, size_t length) {
  reserve(b, length);
  memcpy(b->data + b->length, data, length);
  b->length += length;
}
