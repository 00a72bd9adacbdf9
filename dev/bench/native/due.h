// The streams by when their next chunk is due: a heap, the first at its top.
#pragma once
#include <stdint.h>
#include <stdlib.h>

// Part of a stream; the stream is found by its place.
struct due {
  uint64_t at_ns;
  int index; // in the heap; -1: nothing is due
};

static struct due **heap;
static int heap_count, heap_room;

static void heap_put(int i, struct due *d) {
  heap[i] = d;
  d->index = i;
}

static void heap_rise(int i) {
  struct due *d = heap[i];
  for (; i > 0 && heap[(i - 1) / 2]->at_ns > d->at_ns; i = (i - 1) / 2) heap_put(i, heap[(i - 1) / 2]);
  heap_put(i, d);
}

static void heap_sink(int i) {
  struct due *d = heap[i];
  for (;;) {
    int child = 2 * i + 1;
    if (child >= heap_count) break;
    if (child + 1 < heap_count && heap[child + 1]->at_ns < heap[child]->at_ns) child++;
    if (heap[child]->at_ns >= d->at_ns) break;
    heap_put(i, heap[child]);
    i = child;
  }
  heap_put(i, d);
}

static void due_add(struct due *d) {
  if (heap_count == heap_room) {
    heap_room = heap_room ? heap_room * 2 : 1024;
    heap = realloc(heap, (size_t)heap_room * sizeof *heap);
    if (!heap) abort();
  }
  heap_put(heap_count, d);
  heap_rise(heap_count++);
}

static void due_remove(struct due *d) {
  int i = d->index;
  if (i < 0) return;
  d->index = -1;
  struct due *last = heap[--heap_count];
  if (last == d) return;
  heap_put(i, last);
  heap_rise(i);
  heap_sink(last->index);
}

static struct due *due_first(void) { return heap_count > 0 ? heap[0] : NULL; }
