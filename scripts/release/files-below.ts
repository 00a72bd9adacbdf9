/** The files below a folder, as an archive takes them; links are followed. */

import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { ArchivedFile } from './write-tar.ts'

/** `at`: the folder's own path in the archive. */
export function filesBelow(folder: string, at = ''): ArchivedFile[] {
  return readdirSync(folder).flatMap((name) => {
    const path = at === '' ? name : `${at}/${name}`
    const source = join(folder, name)
    return statSync(source).isDirectory() ? filesBelow(source, path) : [{ path, content: readFileSync(source) }]
  })
}
