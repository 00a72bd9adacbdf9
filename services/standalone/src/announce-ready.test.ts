import { afterEach, expect, test, vi } from 'vitest'
import { announceReady } from './announce-ready.ts'
import { loadSettings } from './config.ts'

afterEach(() => vi.restoreAllMocks())

function announced(guestModel: string | undefined): string {
  const write = vi.spyOn(process.stdout, 'write').mockReturnValue(true)
  const gateway = { url: 'http://127.0.0.1:8080', issuer: 'http://127.0.0.1:8082', guestModel }
  announceReady(gateway, loadSettings({}), null)
  return write.mock.calls.map(([text]) => String(text)).join('')
}

test('the printed request asks for a model that guests have', () => {
  expect(announced('our-model')).toContain(`-d '{"model":"our-model","messages"`)
})

test('the reference of the API is named', () => {
  expect(announced(undefined)).toMatch(/^ {2}docs +http:\/\/127\.0\.0\.1:8080\/docs$/m)
})

test('where guests have no model, nothing is printed that would be refused', () => {
  expect(announced(undefined)).not.toContain('Try it')
  expect(announced(undefined)).toContain('/console  (start here)')
})
