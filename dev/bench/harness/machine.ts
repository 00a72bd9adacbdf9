/**
 * The machine and the software of a measurement.
 */

import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpus, loadavg, release, totalmem } from 'node:os'
import { findPostgres, findProgram } from '@gateway/servers/find-program'
import * as z from 'zod'
import { ROOT } from './folders.ts'

export const environment = z.object({
  takenAt: z.string(),
  commit: z.string(),
  /** A hash of the gateway's own code: equal for two commits that differ elsewhere. */
  code: z.string(),
  machine: z.string(),
  kernel: z.string(),
  versions: z.record(z.string(), z.string()),
})

export type Environment = z.infer<typeof environment>

export function describeEnvironment(): Environment {
  const [cpu, ...others] = cpus()
  const gigabytes = Math.round(totalmem() / 2 ** 30)
  const changed = git('status', '--porcelain', '--', ...CODE)
  return {
    takenAt: new Date().toISOString(),
    commit: git('rev-parse', '--short', 'HEAD') + (changed ? ' with changes' : ''),
    code: hashOf(git('ls-tree', 'HEAD', ...CODE) + changed + git('diff', 'HEAD', '--', ...CODE)),
    machine: `${cpu?.model.trim()}, ${others.length + 1} cores, ${gigabytes} GB`,
    kernel: `Linux ${release()}`,
    versions: {
      Node: process.version,
      NATS: versionOf(findProgram('nats-server')),
      Redis: versionOf(findProgram('redis-server')),
      PostgreSQL: versionOf(postgresProgram()),
    },
  }
}

/** The mean number of processes that wanted a core during the last minute: neighbours included. */
export function loadNow(): number {
  return Number(loadavg()[0]?.toFixed(2))
}

const CODE = ['services', 'packages', 'pnpm-lock.yaml']

function git(...args: string[]): string {
  try {
    return execFileSync('git', args, { cwd: ROOT, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()
  } catch {
    return ''
  }
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 12)
}

function postgresProgram(): string | undefined {
  const folder = findPostgres()
  return folder && `${folder}/postgres`
}

function versionOf(program: string | undefined): string {
  if (!program) return 'installed with the run'
  const words = execFileSync(program, ['--version'], { encoding: 'utf8' })
  return /\d+\.\d+(\.\d+)?/.exec(words)?.[0] ?? words.trim()
}
