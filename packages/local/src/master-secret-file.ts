/**
 * The master secret of the embedded mode and the local cluster. The first start creates it in the data folder, readable by its owner
 * alone. It must outlive a restart, since keys are sealed under it: without it, every stored key is unreadable.
 */

import { randomBytes } from 'node:crypto'
import { link, readFile, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

const FILE_NAME = 'master-secret'

export async function keepMasterSecret(dataDir: string): Promise<string> {
  const path = join(dataDir, FILE_NAME)
  const kept = await readKept(path)
  if (kept !== null) return kept
  const draft = `${path}.${randomBytes(6).toString('hex')}`
  await writeFile(draft, randomBytes(32).toString('base64'), { mode: 0o600, flush: true })
  // A link appears complete and only where no file is, so two starts at once keep the same secret.
  await link(draft, path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error
  })
  await unlink(draft)
  return keepMasterSecret(dataDir)
}

/** Returns null before the first start. An empty file is a lost secret, and nothing replaces it in silence. */
async function readKept(path: string): Promise<string | null> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null
    throw error
  })
  if (text === null) return null
  if (text.trim() !== '') return text.trim()
  throw new Error(`${path} is empty: put the master secret back, or remove the file to make a new one`)
}
