import { afterEach, expect, test, vi } from 'vitest'
import { announceReady, announceStop } from './announce-ready.ts'
import { loadSettings } from './config.ts'

afterEach(() => vi.restoreAllMocks())

function announced(guestModel: string | undefined): string {
  const write = vi.spyOn(process.stdout, 'write').mockReturnValue(true)
  const gateway = { url: 'http://127.0.0.1:8080', issuer: 'http://127.0.0.1:8082', guestModel }
  announceReady(gateway, loadSettings({}), null)
  return write.mock.calls.map(([text]) => String(text)).join('')
}

test('the printed request names a model that guests have', () => {
  expect(announced('our-model')).toContain(`-d '{"model":"our-model","messages"`)
})

test('the reference of the API is named', () => {
  expect(announced(undefined)).toMatch(/^ {2}docs +http:\/\/127\.0\.0\.1:8080\/docs$/m)
})

test('where guests have no model, nothing is printed that would be refused', () => {
  expect(announced(undefined)).not.toContain('Try it')
  expect(announced(undefined)).toContain('/console  (start here)')
})

test.each([
  [1, /^Stopping: 1 response is still on its way, for up to 10 minutes\. Ctrl-C once more ends it now\.$/m],
  [3, /^Stopping: 3 responses are still on their way, for up to 10 minutes\. Ctrl-C once more ends them now\.$/m],
])('somebody who presses Ctrl-C reads why the gateway waits (%i), and how to end it at once', (count, line) => {
  const write = vi.spyOn(process.stdout, 'write').mockReturnValue(true)
  announceStop(count, 600_000)
  expect(String(write.mock.calls[0]![0])).toMatch(line)
})

test('a gateway that has nothing to wait for stops without a word', () => {
  const write = vi.spyOn(process.stdout, 'write').mockReturnValue(true)
  announceStop(0, 600_000)
  expect(write).not.toHaveBeenCalled()
})
