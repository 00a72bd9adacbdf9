/**
 * Peers that no registry delivers. Each is asked for anew, by the names under which its project could publish it, and the
 * table tells the answers.
 */

import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { Subject } from './subject.ts'

const run = promisify(execFile)

const goModule = (name: string) => ({ asked: `the Go module ${name}`, ask: ['go', 'list', '-m', `${name}@latest`] })
const crate = (name: string) => ({
  asked: `the crate ${name}`,
  ask: ['cargo', 'info', '--registry', 'crates-io', name],
})
const npmPackage = (name: string) => ({ asked: `the npm package ${name}`, ask: ['npm', 'view', name, 'version'] })

export const unpublished: Subject[] = [
  { name: 'agentgateway', places: [goModule('github.com/agentgateway/agentgateway'), crate('agentgateway')] },
  { name: 'Envoy AI Gateway', places: [goModule('github.com/envoyproxy/ai-gateway')] },
  { name: 'TensorZero', places: [crate('tensorzero-gateway'), npmPackage('@tensorzero/gateway')] },
  { name: 'Helicone AI Gateway', places: [crate('helicone-ai-gateway'), npmPackage('@helicone/ai-gateway')] },
].map(({ name, places }) => ({
  name,
  async prepare(signal) {
    const answers = []
    for (const { asked, ask } of places) answers.push(`${asked} ${await responseTo(ask, signal)}`)
    throw new Error(answers.join(', '))
  },
}))

async function responseTo([file = '', ...args]: string[], signal: AbortSignal): Promise<string> {
  try {
    await run(file, args, { signal, timeout: REQUESTED_FOR_MS })
    return 'is published by now, and needs a subject here'
  } catch (error) {
    signal.throwIfAborted()
    return (error as NodeJS.ErrnoException).code === 'ENOENT' ? `was not asked for without ${file}` : 'is not delivered'
  }
}

const REQUESTED_FOR_MS = 60_000
