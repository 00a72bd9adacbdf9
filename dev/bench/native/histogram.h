// Counts of durations in nanoseconds, in buckets at most 1/128 apart: a percentile is wrong by less than 1 %.
#pragma once
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { SUB_BITS = 7, SUB = 1 << SUB_BITS, BUCKETS = (64 - SUB_BITS) * SUB };

struct histogram {
  uint64_t counts[BUCKETS];
  uint64_t count, max;
  double sum;
};

static inline unsigned bucket_of(uint64_t value) {
  if (value < SUB) return (unsigned)value;
  unsigned shift = 63u - (unsigned)__builtin_clzll(value) - SUB_BITS;
  return (shift + 1) * SUB + (unsigned)((value >> shift) - SUB);
}

// The middle of a bucket.
static inline double value_of(unsigned bucket) {
  if (bucket < SUB) return bucket;
  unsigned shift = bucket / SUB - 1;
  return ((double)(bucket % SUB + SUB) + 0.5) * (double)(1ull << shift);
}

static inline void histogram_add(struct histogram *h, uint64_t value) {
  h->counts[bucket_of(value)]++;
  h->count++;
  h->sum += (double)value;
  if (value > h->max) h->max = value;
}

static inline double histogram_at(const struct histogram *h, double share) {
  uint64_t wanted = (uint64_t)(share * (double)h->count), seen = 0;
  for (unsigned i = 0; i < BUCKETS; i++)
    if ((seen += h->counts[i]) > wanted) return value_of(i);
  return (double)h->max;
}

// Prints as JSON, in milliseconds.
static inline void histogram_print(const char *name, const struct histogram *h) {
  printf("\"%s\":{\"count\":%llu", name, (unsigned long long)h->count);
  if (h->count > 0)
    printf(",\"mean\":%.4f,\"p50\":%.4f,\"p90\":%.4f,\"p99\":%.4f,\"p999\":%.4f,\"max\":%.4f",
           h->sum / (double)h->count / 1e6, histogram_at(h, 0.5) / 1e6, histogram_at(h, 0.9) / 1e6,
           histogram_at(h, 0.99) / 1e6, histogram_at(h, 0.999) / 1e6, (double)h->max / 1e6);
  printf("}");
}
