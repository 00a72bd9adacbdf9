import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { keepMasterSecret } from './master-secret-file.ts'

let folder: string
beforeEach(async () => void (folder = await mkdtemp(join(tmpdir(), 'gateway-secret-'))))
afterEach(() => rm(folder, { recursive: true }))

test('the first start creates the secret, later ones keep it, and its owner alone can read it', async () => {
  const secret = await keepMasterSecret(folder)
  expect(secret.length).toBeGreaterThanOrEqual(32)
  expect(await keepMasterSecret(folder)).toBe(secret)
  expect((await stat(join(folder, 'master-secret'))).mode & 0o777).toBe(0o600)
})

test('many starts at once keep the same secret and leave nothing beside it', async () => {
  const secrets = await Promise.all(Array.from({ length: 10 }, () => keepMasterSecret(folder)))
  expect(new Set(secrets).size).toBe(1)
  expect(await readdir(folder)).toEqual(['master-secret'])
})

test('a secret that was lost is never replaced in silence: stored keys would become unreadable', async () => {
  await writeFile(join(folder, 'master-secret'), '')
  await expect(keepMasterSecret(folder)).rejects.toThrow(/is empty: put the master secret back/)
})
