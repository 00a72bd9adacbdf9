/**
 * `npm run bench -- semantics`: the promises of a gateway about a quota and its ledger, where speed is no question. It
 * measures this gateway, and each `--peer` whose key has a fresh quota of as many requests.
 */

import { UsageError } from '@gateway/service/report-fatal'
import { startBackend } from '../harness/backend.ts'
import { describeEnvironment, loadNow } from '../harness/machine.ts'
import { compileNative } from '../harness/native.ts'
import { watchNeighbours } from '../harness/neighbours.ts'
import { writeResult } from '../harness/results.ts'
import { describeTaking } from '../report/markdown.ts'
import { writeIntoReadme } from '../report/pages.ts'
import { launchGateway } from '../subjects/gateway.ts'
import type { Peer } from '../subjects/peer.ts'
import { countLost } from './count-lost.ts'
import { reportSemantics, type Row } from './report.ts'
import { type BurstResult, QUOTA_REQUESTS, sendBurst, TOKENS_EACH } from './send-burst.ts'

export interface SemanticsOptions {
  peers: readonly Peer[]
  /** 0: any. */
  backendPort: number
  signal: AbortSignal
  say(line: string): void
}

const PART = 'semantics'
const QUOTA_TOKENS = QUOTA_REQUESTS * TOKENS_EACH

export async function semantics({ peers, backendPort, signal, say }: SemanticsOptions): Promise<void> {
  const environment = describeEnvironment()
  const [loadBefore, others] = [loadNow(), watchNeighbours()]
  const { backend: program } = await compileNative()
  const rows: Row[] = []
  {
    await using backend = await startBackend(program, backendPort)
    for (const { name, endpoint } of peers) {
      say(`${name}: its key has room for ${QUOTA_REQUESTS} requests, ${QUOTA_TOKENS} tokens in all`)
      rows.push({ name, burst: await burstOrReason(() => sendBurst(endpoint, signal), signal), kills: null })
    }
    say('this gateway: a quota')
    rows.unshift({ name: 'this gateway', burst: await burstAtOurs(backend.port, signal), kills: null })
  }
  say('this gateway: kills under load, two minutes')
  rows[0]!.kills = await countLost(signal)
  const taking = { loadBefore, loadAfter: loadNow(), othersShare: others() }
  const report = reportSemantics(rows)
  process.stdout.write(`${report}\n`)
  await writeResult(PART, { environment, ...taking, rows })
  await writeIntoReadme(PART, `${describeTaking(environment, [taking])}\n\n${report}`)
}

async function burstAtOurs(backendPort: number, signal: AbortSignal): Promise<BurstResult> {
  await using gateway = await launchGateway(backendPort, { accounts: 1, allowance: QUOTA_TOKENS })
  const { endpoint, keys } = gateway
  return await sendBurst({ ...endpoint, headers: { authorization: `Bearer ${keys[0]}` } }, signal)
}

async function burstOrReason(burst: () => Promise<BurstResult>, signal: AbortSignal): Promise<BurstResult | string> {
  try {
    return await burst()
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof UsageError) throw error
    return error instanceof Error ? error.message : String(error)
  }
}
