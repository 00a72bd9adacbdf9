/** Fills a folder with everything that `deploy/Dockerfile` puts into a target's, by the same command. */

import { execFile } from 'node:child_process'
import { cp, mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { planOf } from './dockerfile.ts'

const ROOT = join(import.meta.dirname, '../..')
/** Without it npx queries the registry, and waits minutes for one that is unreachable. */
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
