/**
 * Places at which a test may end a process as `kill -9` would, between two steps that must both happen in the end.
 *
 * `FAILPOINTS` names a folder. The process that passes a point whose name is that of a file there removes the file and
 * dies, once. Without the variable a point costs nothing.
 */

import { unlinkSync } from 'node:fs'
import { join } from 'node:path'

const FOLDER = process.env['FAILPOINTS']

export function failpoint(name: string): void {
  if (!FOLDER) return
  try {
    unlinkSync(join(FOLDER, name))
  } catch {
    return
  }
  process.kill(process.pid, 'SIGKILL')
}
