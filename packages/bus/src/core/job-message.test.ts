import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decodeJob, encodeJob } from './messages.ts'

describe('a job message', () => {
  it('comes out as it went in, with its body or without', () => {
    fc.assert(
      fc.property(fc.uint8Array(), fc.uint8Array({ minLength: 1 }), fc.boolean(), (header, body, inline) => {
        const job = { callerId: 'caller', stream: 4_000_000_000, header, partBytes: 7 }
        const decoded = decodeJob(encodeJob({ ...job, body, inline }))
        expect({ ...decoded, header: Uint8Array.from(decoded.header), inlineBody: null }).toEqual({
          ...job,
          bodyBytes: body.length,
          inlineBody: null,
        })
        expect(decoded.inlineBody && Uint8Array.from(decoded.inlineBody)).toEqual(inline ? body : null)
      }),
    )
  })

  it('carries an empty body as a body', () => {
    const message = encodeJob({
      callerId: 'c',
      stream: 1,
      header: Buffer.from('h'),
      partBytes: 1,
      body: Buffer.alloc(0),
      inline: true,
    })
    expect(decodeJob(message).inlineBody).toHaveLength(0)
  })

  it('is refused when it is cut short or of another version', () => {
    const message = encodeJob({
      callerId: 'c',
      stream: 1,
      header: Buffer.from('head'),
      partBytes: 1,
      body: Buffer.from('body'),
      inline: true,
    })
    for (const length of [0, 1, 5, 20, message.length - 1]) {
      expect(() => decodeJob(message.subarray(0, length))).toThrow(RangeError)
    }
    message[0] = 2
    expect(() => decodeJob(message)).toThrow('version 2')
  })
})
