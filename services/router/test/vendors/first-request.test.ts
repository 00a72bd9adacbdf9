/** A file of its own: no other test has loaded a vendor's library in this process. */

import { createRequire } from 'node:module'
import type { BackendConfig } from '@gateway/contracts/config'
import { expect, test } from 'vitest'
import { openCredential } from '../../src/vendors/authentication.ts'

const { cache } = createRequire(import.meta.url)
const isLoaded = () => Object.keys(cache).some((path) => path.includes('google-auth-library'))

test("a vendor's library is loaded when its backend is opened: the first request has its whole time to connect", async () => {
  expect(isLoaded()).toBe(false)
  openCredential({ id: 'vertex', vendor: 'vertex', url: 'https://aiplatform.googleapis.com/v1' } as BackendConfig, {})
  await expect.poll(isLoaded).toBe(true)
})
