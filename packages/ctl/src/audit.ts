/**
 * `audit verify`: whether the rows of the audit log are those that the gateway wrote.
 */

import { oneLine, type CommandResult } from './command-result.ts'
import type { Gateway } from './gateway.ts'

/** Pages of the chain, each from the end of the one before. */
export async function verifyAudit(gateway: Gateway): Promise<CommandResult> {
  let checked = 0
  let from: { after?: string; hash?: string } = {}
  for (;;) {
    const page = await gateway.administer('audit.verify', from)
    checked += page.checked
    const { problem, last_id: lastId, last_hash: hash } = page
    if (problem !== null) {
      const text = oneLine(`${problem.kind} at ${problem.id}: ${problem.message}`)
      return { data: { checked, problem }, text, findsFault: true }
    }
    if (!page.has_more || lastId === null) {
      const text = `${checked} rows are as the gateway wrote them; the last hash is ${hash}`
      return { data: { checked, problem: null, last_id: lastId, last_hash: hash }, text }
    }
    from = { after: lastId, hash }
  }
}
