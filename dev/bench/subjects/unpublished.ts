/**
 * Peers that no registry delivers. Each run queries the names under which its project could publish it, and the table
 * shows the replies.
 */

import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { Subject } from './subject.ts'

const run = promisify(execFile)

const goModule = (name: string) => ({ place: `the Go module ${name}`, command: ['go', 'list', '-m', `${name}@latest`] })
const crate = (name: string) => ({
  place: `the crate ${name}`,
  command: ['cargo', 'info', '--registry', 'crates-io', name],
})
const npmPackage = (name: string) => ({ place: `the npm package ${name}`, command: ['npm', 'view', name, 'version'] })

export const unpublished: Subject[] = [
  { name: 'agentgateway', places: [goModule('github.com/agentgateway/agentgateway'), crate('agentgateway')] },
  { name: 'Envoy AI Gateway', places: [goModule('github.com/envoyproxy/ai-gateway')] },
  { name: 'TensorZero', places: [crate('tensorzero-gateway'), npmPackage('@tensorzero/gateway')] },
  { name: 'Helicone AI Gateway', places: [crate('helicone-ai-gateway'), npmPackage('@helicone/ai-gateway')] },
].map(({ name, places }) => ({
  name,
  async prepare(signal) {
    const replies = []
    for (const { place, command } of places) replies.push(`${place} ${await lookUp(command, signal)}`)
    throw new Error(replies.join(', '))
  },
}))

async function lookUp([file = '', ...args]: string[], signal: AbortSignal): Promise<string> {
  try {
    await run(file, args, { signal, timeout: LOOKUP_TIMEOUT_MS })
    return 'is published by now, and needs a subject here'
  } catch (error) {
    signal.throwIfAborted()
    return (error as NodeJS.ErrnoException).code === 'ENOENT'
      ? `was not looked up: there is no ${file} here`
      : 'is not delivered'
  }
}

const LOOKUP_TIMEOUT_MS = 60_000
