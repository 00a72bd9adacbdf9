import { GatewayError } from '@gateway/contracts/errors'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { usageEvent } from '../../test/planned-job.ts'
import type { Reader, Source } from '../relay/client-writer.ts'
import { MAX_KEPT_BYTES, shareResponse, type CompleteResponse } from './shared-response.ts'

const ERROR = new GatewayError('SERVICE_UNAVAILABLE', 'broken')
const HEADERS = { 'x-svc-upstream': 'nova' }
const FINAL = { 'x-svc-upstream': 'nova', 'x-svc-quota-used': '5' }

/** A reader at the pace of the test: `take` says how many of the written bytes it has taken. */
class TestReader implements Reader {
  head: unknown
  text = ''
  end: unknown
  source: Source | null = null
  begin(contentType: string, headers: () => Record<string, string>): void {
    this.head = { contentType, headers: headers() }
  }
  write(bytes: Uint8Array): void {
    this.text += Buffer.from(bytes).toString()
  }
  finish(headers: () => Record<string, string>): void {
    this.end = { headers: headers() }
  }
  fail(error: GatewayError): void {
    this.end = { error }
  }
  listen(source: Source): void {
    this.source = source
  }
  take(bytes: number): void {
    this.source!.consumed(bytes)
  }
}

function open() {
  const kept: CompleteResponse[] = []
  const state = { consumed: 0, isStopped: false, isMetered: false, isFree: false }
  const shared = shareResponse({
    keep: async (response) => kept.push(response) > 0,
    owns: async () => true,
    metered: () => (state.isMetered = true),
    free: async () => void (state.isFree = true),
  })
  shared.client.listen({
    consumed: (bytes) => void (state.consumed += bytes),
    left: () => void (state.isStopped = true),
    headersOnSilence: () => ({ 'x-so-far': '1' }),
  })
  return { shared, writer: shared.client, kept, state, join: () => joined(shared.join.bind(shared)) }
}

function joined(join: (reader: Reader) => boolean): TestReader {
  const reader = new TestReader()
  expect(join(reader)).toBe(true)
  return reader
}

const COMPLETE = { head: { contentType: 'text/event-stream', headers: HEADERS }, end: { headers: FINAL } }

describe('a shared response', () => {
  test('is the same to everyone, whenever they join', () => {
    const piece = fc.string({ minLength: 1 })
    fc.assert(
      fc.property(fc.array(fc.option(piece)), (script) => {
        const { shared, writer, join } = open()
        const readers = [join()]
        writer.begin('text/event-stream', () => HEADERS)
        // Null: somebody joins.
        for (const step of script) {
          if (step === null) readers.push(join())
          else writer.write(Buffer.from(step))
        }
        writer.finish(() => FINAL)
        const late = new TestReader()
        expect(shared.join(late)).toBe(true)
        const text = Buffer.concat(script.map((step) => Buffer.from(step ?? ''))).toString()
        for (const reader of [...readers, late]) expect(reader).toMatchObject({ ...COMPLETE, text })
      }),
    )
  })

  const moments = ['before it is kept', 'while it is kept', 'while its usage is stored'] as const
  const sizes = { small: 3, 'too large to keep': MAX_KEPT_BYTES + 1 }
  const cases = moments.flatMap((moment) =>
    Object.entries(sizes).flatMap(([size, bytes]) => [true, false].map((isOurs) => ({ moment, size, isOurs, bytes }))),
  )
  test.each(cases)(
    '($size) that is stopped $moment ends for its readers as its charge says (the key is ours: $isOurs)',
    async ({ moment, isOurs, bytes }) => {
      const kept = Promise.withResolvers<boolean>()
      const shared = shareResponse({
        keep: () => kept.promise,
        owns: () => kept.promise,
        metered: () => {},
        free: async () => {},
      })
      const reader = joined((each) => shared.join(each))
      shared.client.begin('text/event-stream', () => HEADERS)
      shared.client.write(Buffer.alloc(bytes))
      // As the relay does. It charges a response that it delivers, and none that gives way.
      if (moment === 'before it is kept') shared.stop(ERROR)
      const keeping = shared.client.keep!(usageEvent({}), Buffer.alloc(0), {})
      if (moment === 'while it is kept') shared.stop(ERROR)
      kept.resolve(isOurs)
      const isCharged = await keeping
      if (moment === 'while its usage is stored') shared.stop(ERROR)
      if (isCharged) shared.client.finish(() => FINAL)
      else shared.client.fail(ERROR)
      await shared.client.ended
      expect(reader.end).toEqual(isCharged ? { headers: FINAL } : { error: ERROR })
      expect(isCharged).toBe(moment !== 'before it is kept' && isOurs)
    },
  )

  test('is kept completely, with its usage, before any client gets its end', async () => {
    const { writer, kept, state, join } = open()
    const reader = join()
    writer.begin('text/event-stream', () => HEADERS)
    const message = Buffer.from('abcdef')
    writer.write(message.subarray(0, 3))
    // Bytes lie in a message that may be used again.
    message.fill(0)
    writer.write(Buffer.from('ghi'))
    const usage = usageEvent()
    await writer.keep?.(usage, Buffer.from('jkl'), {})
    expect({ end: reader.end, isMetered: state.isMetered }).toEqual({ end: undefined, isMetered: false })
    expect(kept).toMatchObject([{ contentType: 'text/event-stream', headers: HEADERS, usage }])
    expect(Buffer.concat(kept[0]!.pieces).toString()).toBe('abcghijkl')
    expect(reader.text).toBe('abcghi')
    writer.finish(() => FINAL)
    expect({ end: reader.end, isMetered: state.isMetered }).toEqual({ end: { headers: FINAL }, isMetered: true })
  })

  test('runs on when its readers leave, and those who come back get all of it', () => {
    const { writer, state, join } = open()
    const first = join()
    writer.begin('text/event-stream', () => HEADERS)
    writer.write(Buffer.from('one '))
    first.source!.left()
    writer.write(Buffer.from('two'))
    expect(state).toMatchObject({ isStopped: false, consumed: 7 })
    expect(first.text).toBe('one ')
    expect(join().text).toBe('one two')
  })

  test('is not held up by a reader that takes nothing', () => {
    const { writer, state, join } = open()
    join()
    writer.write(Buffer.alloc(MAX_KEPT_BYTES))
    expect(state.consumed).toBe(MAX_KEPT_BYTES)
  })

  test('that fails is a failure to all who wait, and to all who come', async () => {
    const { shared, writer, join, state } = open()
    const reader = join()
    await shared.fail(ERROR)
    writer.finish(() => FINAL)
    expect([reader.end, join().end]).toEqual([{ error: ERROR }, { error: ERROR }])
    expect(state).toMatchObject({ isStopped: false, isFree: true })
  })

  test('that is stopped stops its run, and notifies its readers', () => {
    const { shared, join, state } = open()
    const reader = join()
    shared.stop(ERROR)
    expect({ end: reader.end, isStopped: state.isStopped }).toEqual({ end: { error: ERROR }, isStopped: true })
  })

  test('takes the current headers when a reader has been waiting long', () => {
    const { join } = open()
    expect(join().source!.headersOnSilence()).toEqual({ 'x-so-far': '1' })
  })
})

test('a response whose held end makes it too large is not kept', async () => {
  const { writer, kept } = open()
  writer.begin('text/event-stream', () => HEADERS)
  writer.write(Buffer.alloc(MAX_KEPT_BYTES))
  await writer.keep?.(usageEvent(), Buffer.alloc(1), {})
  expect(kept).toEqual([])
})

describe('a response that is too large to keep', () => {
  const LARGE = Buffer.alloc(MAX_KEPT_BYTES + 1)

  test('goes on for those who read it, and nobody can join or is given it again', async () => {
    const { shared, writer, kept, join } = open()
    const readers = [join(), join()]
    writer.begin('application/json', () => HEADERS)
    writer.write(LARGE)
    writer.write(Buffer.from('end'))
    expect(shared.join(new TestReader())).toBe(false)
    await writer.keep?.(usageEvent(), new Uint8Array(0), {})
    writer.finish(() => FINAL)
    expect(kept).toEqual([])
    for (const reader of readers) {
      expect(reader.text).toHaveLength(LARGE.length + 3)
      expect(reader.end).toEqual({ headers: FINAL })
    }
  })

  test('goes at the pace of its slowest reader, until that one leaves', () => {
    const { writer, state, join } = open()
    const [fast, slow] = [join(), join()]
    writer.write(LARGE)
    writer.write(Buffer.alloc(999))
    expect(state.consumed).toBe(MAX_KEPT_BYTES)
    fast.take(LARGE.length + 999)
    slow.take(LARGE.length)
    expect(state.consumed).toBe(LARGE.length)
    slow.source!.left()
    expect(state.consumed).toBe(LARGE.length + 999)
  })

  test('is stopped when its last reader leaves, or has left before', () => {
    const left = open()
    const reader = left.join()
    left.writer.write(LARGE)
    expect(left.state.isStopped).toBe(false)
    reader.source!.left()
    expect(left.state.isStopped).toBe(true)

    const alone = open()
    alone.join().source!.left()
    alone.writer.write(Buffer.alloc(MAX_KEPT_BYTES))
    expect(alone.state.isStopped).toBe(false)
    alone.writer.write(Buffer.alloc(1))
    expect(alone.state.isStopped).toBe(true)
  })
})
