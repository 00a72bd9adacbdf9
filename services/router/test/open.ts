/**
 * Opens the objects of a test (backends, routers before them) and closes them when it is over.
 */

import { afterEach } from 'vitest'
import { startHttpBackend, type Reply, type HttpBackend } from './http-backend.ts'
import { startRouterUnderTest, type RouterUnderTest } from './router-under-test.ts'

/** For events that come soon, on a machine that may be busy. */
export const SOON = { timeout: 60_000 }

const opened: AsyncDisposable[] = []
afterEach(async () => {
  for (const one of opened.splice(0).reverse()) await one[Symbol.asyncDispose]()
})

/** Closed after the test, the last first. */
export function closing<T extends AsyncDisposable>(one: T): T {
  opened.push(one)
  return one
}

export const backend = async (reply: Reply): Promise<HttpBackend> => closing(await startHttpBackend(reply))

export const router = async (...args: Parameters<typeof startRouterUnderTest>): Promise<RouterUnderTest> =>
  closing(await startRouterUnderTest(...args))
