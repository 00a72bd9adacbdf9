import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openDataFolder } from './data-folder.ts'

let folder: string
beforeEach(async () => void (folder = await mkdtemp(join(tmpdir(), 'data-folder-'))))
afterEach(() => rm(folder, { recursive: true }))

test('the start creates a data folder with its parents, and leaves no file in it', async () => {
  const path = join(folder, 'a', 'b')
  await openDataFolder(path)
  expect((await stat(path)).isDirectory()).toBe(true)
  expect(await readdir(path)).toEqual([])
  await openDataFolder(path)
})

test.each([
  ['below a file', async () => (await writeFile(join(folder, 'file'), ''), join(folder, 'file', 'data'))],
  ['that is a file', async () => (await writeFile(join(folder, 'file'), ''), join(folder, 'file'))],
  // Node's own recursive `mkdir` never ends there (Node 24 and 26).
  ...(process.platform === 'linux'
    ? ([
        ['in which nobody can create a folder', async () => '/proc/no-such-folder/data'],
        ['in which nobody can write', async () => '/proc/self'],
      ] as const)
    : []),
] as const)(
  'a data folder %s ends with a sentence that names it and its variable',
  async (_, path) => {
    const dataDir = await path()
    await expect(openDataFolder(dataDir)).rejects.toThrow(`The data folder ${dataDir} (DATA_DIR) cannot be used: `)
  },
  20_000,
)
