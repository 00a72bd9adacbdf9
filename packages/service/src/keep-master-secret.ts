/**
 * The master secret of the embedded mode and the local cluster: made once and kept in the data folder, readable by its owner alone. It must
 * outlive a restart, since keys are sealed under it; who deletes it makes every stored key unreadable.
 */

import { randomBytes } from 'node:crypto'
import { open, readFile } from 'node:fs/promises'
import { join } from 'node:path'

const FILE_NAME = 'master-secret'

export async function keepMasterSecret(dataDir: string): Promise<string> {
  const path = join(dataDir, FILE_NAME)
  try {
    // `wx` fails where the file exists, so two starts at once cannot make two secrets.
    await using file = await open(path, 'wx', 0o600)
    const secret = randomBytes(32).toString('base64')
    await file.writeFile(secret)
    await file.sync()
    return secret
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    const secret = (await readFile(path, 'utf8')).trim()
    if (secret === '') throw new Error(`${path} is empty: put the master secret back, or remove the file to make a new one`)
    return secret
  }
}
