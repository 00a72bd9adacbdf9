/** Fills a folder with everything that `deploy/Dockerfile` puts into a target's, by the same command. */

import { execFile } from 'node:child_process'
import { cp, lstat, mkdir, readdir, readFile, readlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { planOf } from '../../deploy/dockerfile.ts'
import type { ArchivedEntry } from '../write-tar.ts'

const ROOT = join(import.meta.dirname, '../../..')
/** Without it npx asks the registry, and waits minutes where there is none. */
export const PREFER_OFFLINE = { npm_config_prefer_offline: 'true' }

/** `builtConsole`: a checkout in which the console is built. */
export async function fillApp(target: string, folder: string, builtConsole: string): Promise<void> {
  const { fill, fillEnvironment, copies } = planOf(target)
  const [, script, ...args] = fill
  await promisify(execFile)(process.execPath, [join(ROOT, script!), ...args.slice(0, -1), folder], {
    env: { ...process.env, ...PREFER_OFFLINE, ...fillEnvironment },
  })
  for (const { from, to, isBuilt } of copies) {
    await mkdir(dirname(join(folder, to)), { recursive: true })
    await cp(join(isBuilt ? builtConsole : ROOT, from), join(folder, to), { recursive: true })
  }
}

/** Files and links as they are; nobody owns them. */
export async function entriesBelow(folder: string, at: string): Promise<ArchivedEntry[]> {
  const entries = (await readdir(folder)).map(async (name): Promise<ArchivedEntry[]> => {
    const source = join(folder, name)
    const path = `${at}/${name}`
    const found = await lstat(source)
    if (found.isDirectory()) return entriesBelow(source, path)
    if (found.isSymbolicLink()) return [{ path, linkTo: await readlink(source) }]
    return [{ path, content: await readFile(source), isExecutable: (found.mode & 0o111) !== 0 }]
  })
  return (await Promise.all(entries)).flat()
}
