/**
 * Runs `npm run ctl` with the arguments and the environment of a test, and nothing more.
 */

import { execFile } from 'node:child_process'
import { resolve } from 'node:path'
import { bareEnvironment } from './bare-environment.ts'

const SCRIPT = resolve(import.meta.dirname, '../../packages/ctl/src/main.ts')
const TIMEOUT_MS = 60_000

export interface Said {
  code: number
  out: string
  err: string
}

export function runCtl(args: string[], environment: Record<string, string>): Promise<Said> {
  const env = { ...bareEnvironment(), ...environment }
  return new Promise((settle) => {
    const child = execFile(process.execPath, [SCRIPT, ...args], { env, timeout: TIMEOUT_MS }, (_, out, err) => {
      settle({ code: child.exitCode ?? -1, out, err })
    })
  })
}
