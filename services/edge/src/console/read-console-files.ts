/**
 * The built console: a folder of a few files, read once into memory, each with the compressed forms that stand beside it.
 */

import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { extname, join, relative, sep } from 'node:path'

export interface ConsoleFile {
  type: string
  /** Named by its content, so it may be kept for ever. */
  hashed: boolean
  /** By content coding; `identity` is always there. */
  forms: Partial<Record<ContentCoding, FileForm>> & { identity: FileForm }
}

export interface FileForm {
  body: Buffer
  etag: string
}

/** The best first. */
export const CODINGS = { br: '.br', gzip: '.gz' } as const
export type ContentCoding = keyof typeof CODINGS | 'identity'

/** By path below the console's address: `assets/index-1a2b3c4d.js`. */
export type ConsoleFiles = ReadonlyMap<string, ConsoleFile>

const TYPES: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
  '.json': 'application/json',
  '.txt': 'text/plain; charset=utf-8',
}

/** Null where nothing was built. */
export async function readConsoleFiles(folder: string): Promise<ConsoleFiles | null> {
  const files = new Map<string, ConsoleFile>()
  for (const path of await listFiles(folder)) {
    const type = TYPES[extname(path)]
    if (type === undefined) continue
    const forms: ConsoleFile['forms'] = { identity: toForm(await readFile(join(folder, path))) }
    for (const [coding, suffix] of Object.entries(CODINGS)) {
      const compressed = await readIfThere(join(folder, path + suffix))
      if (compressed) forms[coding as keyof typeof CODINGS] = toForm(compressed)
    }
    files.set(path.split(sep).join('/'), { type, hashed: path.startsWith(`assets${sep}`), forms })
  }
  return files.has('index.html') ? files : null
}

function toForm(body: Buffer): FileForm {
  return { body, etag: `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"` }
}

async function listFiles(folder: string): Promise<string[]> {
  try {
    const entries = await readdir(folder, { recursive: true, withFileTypes: true })
    return entries
      .filter((entry) => entry.isFile())
      .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}

async function readIfThere(path: string): Promise<Buffer | undefined> {
  try {
    return await readFile(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}
