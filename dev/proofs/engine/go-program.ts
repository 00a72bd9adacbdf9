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

export interface GoModule {
  module: string
  version: string
}

export interface GoProgram extends GoModule {
  name: string
  /** Within the module: `./cmd`. */
  entry: string
  linkerFlags?: string
}

/** Returns the program's path. */
export async function goProgram({ name, module, version, entry, linkerFlags = '-s -w' }: GoProgram): Promise<string> {
  const folder = join(CACHE, 'go', `${name}@${version}`)
  const program = join(folder, name)
  if (existsSync(program)) return program
  process.stderr.write(`building ${name}, of ${module}@${version}\n`)
  const downloaded = await downloadModule({ module, version })
  // As the main module: `go install` refuses a module with replacements or exclusions.
  const sources = join(folder, 'sources')
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder, { recursive: true })
  await execute('cp', ['--recursive', '--no-preserve=mode', downloaded, sources])
  const args = ['build', '-trimpath', '-ldflags', linkerFlags, '-o', `${program}.new`, entry]
  await execute(findGo(), args, { cwd: sources, env: { ...process.env, CGO_ENABLED: '0' } })
  await rm(sources, { recursive: true })
  await rename(`${program}.new`, program)
  return program
}

/** Returns the folder of its sources, which is Go's own. */
export async function downloadModule({ module, version }: GoModule): Promise<string> {
  const download = await execute(findGo(), ['mod', 'download', '-json', `${module}@${version}`], { cwd: '/' })
  return (JSON.parse(download.stdout) as { Dir: string }).Dir
}

export function findGo(): string {
  const go = findProgram('go') ?? ['/usr/local/go/bin/go', '/usr/lib/go/bin/go'].find((path) => existsSync(path))
  if (!go) throw new Error('Go is missing: install it (https://go.dev/dl)')
  return go
}
