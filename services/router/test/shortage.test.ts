/** A router that runs out of files, ports or memory of its own: no backend pays for that, and the operator is informed. */

import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { attributeFailure, isWorthRepeating } from '../src/core/backend-fault.ts'
import { afterProbe, newHealth } from '../src/core/backend-health.ts'
import { faultOfError } from '../src/clients/network-errors.ts'
import { goodChat } from './http-backend.ts'
import { backend } from './open.ts'

const FILES = 200
const CHILD = join(import.meta.dirname, 'short-of-files.ts')

test('a router without free files calls its backends again as soon as it has some', async () => {
  const { url } = await backend(goodChat)
  const urls = [url, url.replace('127.0.0.1', 'localhost')]
  const line = `ulimit -n ${FILES}; exec "$0" "$@"`
  const { stdout } = await promisify(execFile)('bash', ['-c', line, process.execPath, CHILD, ...urls])
  const { without, code, after, reported } = JSON.parse(stdout) as Record<
    'without' | 'after',
    { outcome: string }[]
  > & {
    code: string
    reported: string[]
  }
  expect(code).toBe('UPSTREAMS_EXHAUSTED')
  expect(new Set(without.map(({ outcome }) => outcome))).toEqual(new Set(['shortage']))
  expect(without.length).toBeGreaterThan(1)
  expect(after).toMatchObject([{ backend: 'a', outcome: 'served' }])
  expect(reported).toEqual([
    expect.stringMatching(/^this router cannot open connections, .* raise its limit of open files/),
  ])
})

const failed = (code: string) => Object.assign(new Error(code), { code })
const kindOf = (error: unknown) => faultOfError(error, 'connecting').kind

describe.each(['EMFILE', 'ENFILE', 'EADDRNOTAVAIL', 'ENOBUFS', 'ENOMEM'])('%s', (code) => {
  test.each([
    ['alone', failed(code)],
    ['behind another error', new Error('fetch failed', { cause: failed(code) })],
    ['at each address of a backend', new AggregateError([failed(code), failed(code)])],
  ])('%s is nobody’s fault, and passes', (_, error) => {
    for (const state of ['connecting', 'connected'] as const) {
      const fault = faultOfError(error, state)
      expect(fault).toMatchObject({ kind: 'shortage', message: expect.stringContaining(code), cause: error })
      expect(attributeFailure(fault).on).toBe('nobody')
      expect(isWorthRepeating(fault)).toBe(true)
    }
  })

  test('at one address of a backend whose other one refuses is the backend’s fault', () => {
    expect(kindOf(new AggregateError([failed(code), failed('ECONNREFUSED')]))).toBe('connect')
    expect(kindOf(Object.assign(new AggregateError([failed(code), failed('ETIMEDOUT')]), { code }))).toBe('connect')
  })
})

test('a name that is not known while there are files is the backend’s fault', () => {
  expect(kindOf(failed('ENOTFOUND'))).toBe('dns')
})

test('a probe that could not be sent leaves a backend as it was', () => {
  const ejected = { ...newHealth(), halfOpen: true, ejections: 1, ejectedUntilMs: 1_000, turnedAtMs: 0 }
  expect(afterProbe(ejected, { startedAtMs: 900 }, 'unasked', 1_000, 0)).toBe(ejected)
})
