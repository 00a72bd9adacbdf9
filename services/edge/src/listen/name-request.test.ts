import type { Request, Response } from 'express'
import { expect, test } from 'vitest'
import { nameRequest, requestIdOf } from './name-request.ts'

function nameOne(): string {
  const response = { locals: {}, setHeader: () => response } as unknown as Response
  void nameRequest({} as Request, response, () => {})
  return requestIdOf(response)
}

test('no two requests have the same id, and each begins with its time', () => {
  const before = Date.now()
  const ids = Array.from({ length: 10_000 }, nameOne)
  const after = Date.now()
  expect(new Set(ids).size).toBe(ids.length)
  for (const id of ids) {
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    const atMs = Number.parseInt(id.replace('-', '').slice(0, 12), 16)
    expect(atMs).toBeGreaterThanOrEqual(before)
    expect(atMs).toBeLessThanOrEqual(after)
  }
})
