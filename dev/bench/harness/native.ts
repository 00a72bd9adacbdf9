/**
 * The C programs of the bench, the backend, the load generator and a clock, compiled when their sources have changed.
 */

import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { mkdir, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { findProgram } from '@gateway/servers/find-program'
import { install } from '@gateway/servers/install'
import { BENCH_DATA } from './folders.ts'

const SOURCES = join(import.meta.dirname, '..', 'native')
const COMPILERS = ['cc', 'gcc', 'clang']

export interface NativePrograms {
  backend: string
  load: string
}

export async function compileNative(): Promise<NativePrograms> {
  const folder = folderOfThese()
  return { backend: await compile('backend', folder), load: await compile('load', folder) }
}

/** A library that moves the clock of any process that loads it. */
export async function compileClock(): Promise<string> {
  return compile('shift-clock', folderOfThese(), ['-shared', '-fPIC'])
}

function folderOfThese(): string {
  const hash = createHash('sha256')
  for (const file of globSync('*', { cwd: SOURCES }).sort()) hash.update(readFileSync(join(SOURCES, file)))
  return join(BENCH_DATA, 'native', hash.digest('hex').slice(0, 12))
}

async function compile(name: string, folder: string, flags: string[] = []): Promise<string> {
  const program = join(folder, name)
  if (existsSync(program)) return program
  const compiler = await findCompiler()
  await mkdir(folder, { recursive: true })
  await promisify(execFile)(compiler, ['-O2', ...flags, '-o', `${program}.new`, join(SOURCES, `${name}.c`)])
  await rename(`${program}.new`, program)
  return program
}

async function findCompiler(): Promise<string> {
  const find = () => COMPILERS.map(findProgram).find((file) => file !== undefined)
  const findHeaders = () => (existsSync('/usr/include/stdio.h') ? '/usr/include' : undefined)
  const variable = 'PATH'
  const compiler = find() ?? (await install({ name: 'A C compiler', package: 'gcc', variable, find }))
  if (process.platform === 'linux' && !findHeaders()) {
    await install({ name: "The C library's headers", package: 'libc6-dev', variable, find: findHeaders })
  }
  return compiler
}
