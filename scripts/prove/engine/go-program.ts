/**
 * A program from the Go module proxy, built once per version and kept.
 */

import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { findProgram } from '@gateway/servers/find-program'
import { CACHE } from './engine.ts'

const execute = promisify(execFile)

export interface GoProgram {
  name: string
  module: string
  version: string
  /** Within the module: `./cmd`. */
  entry: string
  linkerFlags?: string
}

/** Answers the program's path. */
export async function goProgram({ name, module, version, entry, linkerFlags = '-s -w' }: GoProgram): Promise<string> {
  const folder = join(CACHE, 'go', `${name}@${version}`)
  const program = join(folder, name)
  if (existsSync(program)) return program
  const go = findProgram('go') ?? ['/usr/local/go/bin/go', '/usr/lib/go/bin/go'].find((path) => existsSync(path))
  if (!go) throw new Error(`Go is missing: install it (https://go.dev/dl), it builds ${module}`)
  process.stderr.write(`building ${module}@${version}\n`)
  const download = await execute(go, ['mod', 'download', '-json', `${module}@${version}`], { cwd: '/' })
  const { Dir } = JSON.parse(download.stdout) as { Dir: string }
  // As the main module: `go install` refuses a module with replacements or exclusions.
  const sources = join(folder, 'sources')
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder, { recursive: true })
  await execute('cp', ['--recursive', '--no-preserve=mode', Dir, sources])
  const args = ['build', '-trimpath', '-ldflags', linkerFlags, '-o', `${program}.new`, entry]
  await execute(go, args, { cwd: sources, env: { ...process.env, CGO_ENABLED: '0' } })
  await rm(sources, { recursive: true })
  await rename(`${program}.new`, program)
  return program
}
