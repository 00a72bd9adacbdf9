/**
 * Waits until the gateway has come to rest, and reads the data of the ledger and the admission store then. A state that
 * never comes to rest is read after a time, for a checker to find.
 */

import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { openRedisAdmission } from '@gateway/admission/redis'
import { usageConsumers, usageStream } from '@gateway/contracts/subjects'
import { connectTo } from '@gateway/redis/connect'
import { connectBroker } from '@gateway/testing/call-jetstream'
import { verifyAudit } from '../../../packages/ctl/src/audit.ts'
import { findGateway } from '../../../packages/ctl/src/gateway.ts'
import type { ClientLog } from '../clients/client-log.ts'
import { requestsIn } from '../clients/question.ts'
import type { Projects } from '../stage/open-projects.ts'
import type { Stage } from '../stage/open-stage.ts'
import {
  type Administration,
  type AuditRow,
  type Brought,
  type Backlog,
  type Call,
  type Facts,
  type LedgerRow,
  NAMELESS,
  type StoreFact,
  type Injected,
} from './facts.ts'
import type { WindowFact } from './facts.ts'
import { findLeftovers } from './totals.ts'

const LOOK_EVERY_MS = 500

/** Resolves when nothing is pending any more, or after a time. */
export async function comeToRest(stage: Stage, injected: readonly Injected[], withinMs: number): Promise<void> {
  const deadlineMs = Date.now() + withinMs
  while (findLeftovers({ ...(await readState(stage)), injected }).length > 0) {
    if (Date.now() > deadlineMs) return
    await sleep(LOOK_EVERY_MS)
  }
}

export async function collectFacts(
  stage: Stage,
  log: ClientLog,
  { injected, projects }: { injected: readonly Injected[]; projects: Projects | null },
): Promise<Facts> {
  const { alone } = stage.logs
  const promotionsAtMs = stage.network?.servers?.redis.promotionsAtMs ?? []
  return {
    ...(await readState(stage)),
    ...(await readRecords(stage)),
    ...{ seen: log.all, injected, alone, promotionsAtMs },
    administration: projects && (await readAdministration(stage, projects)),
  }
}

async function readAdministration(
  { cluster, database }: Stage,
  { administrator, limits, lists }: Projects,
): Promise<Administration> {
  const { rows } = await database.query<AuditRow>(`
    select type, entry::jsonb->>'userAgent' as "userAgent", entry::jsonb->>'requestId' as "requestId"
    from keys.audit_log order by seq`)
  await using gateway = await findGateway({ NATS_URL: cluster.servers.nats.url }, {})
  const { data, text, findsFault = false } = await verifyAudit(gateway)
  const { checked } = data as { checked: number }
  return { calls: administrator.calls, limits, lists, audit: { rows, checked, problem: findsFault ? text : null } }
}

async function readRecords(stage: Stage): Promise<Pick<Facts, 'calls' | 'rows' | 'owners'>> {
  return {
    calls: readCalls(stage),
    rows: await readRows(stage),
    owners: stage.keyring.owners.map(({ name, kind, account }) => ({ name, kind, account })),
  }
}

async function readState(stage: Stage): Promise<Pick<Facts, 'backlog' | 'store' | 'windows'>> {
  await touchAll(stage)
  return { backlog: await readBacklog(stage), store: await readStore(stage), windows: await readWindows(stage) }
}

/** Lapsed leases are released by the next call on their account: a renewal of nothing is one. */
async function touchAll({ cluster, keyring }: Stage): Promise<void> {
  await using admission = await openRedisAdmission({ url: cluster.servers.redis.url, timeoutMs: 5_000 })
  const leases = accountsOf(keyring).map((account) => ({ account, requestId: 'none' }))
  await admission.renew(leases, 1)
}

async function readBacklog({ cluster, database }: Stage): Promise<Backlog> {
  const call = `CONSUMER.INFO.${usageStream.name}.${usageConsumers.metering}`
  await using broker = await connectBroker(cluster.servers.nats.url)
  const info = await broker.call<ConsumerInfo>(call)
  const count = async (table: string) => {
    const { rows } = await database.query<{ count: number }>(`select count(*)::int as count from ${table}`)
    return rows[0]!.count
  }
  return {
    events: info.num_pending + info.num_ack_pending,
    owedTotals: await count('metering.owed_totals'),
    rejected: await count('metering.rejected'),
  }
}

interface ConsumerInfo {
  num_pending: number
  num_ack_pending: number
}

/** A request that is over holds nothing of the allowance: only its tokens are still known, for a while. */
const READ_USE = asScript(`
  local fields = redis.call('HGETALL', KEYS[1])
  local state, records, over = {}, {}, 0
  for i = 1, #fields, 2 do
    if fields[i] == 'state' then state = cmsgpack.unpack(fields[i + 1])
    elseif string.sub(fields[i], 1, 8) ~= 'request:' then -- A meter of a key or a model.
    elseif string.sub(fields[i + 1], 1, 5) == 'over ' then over = over + 1
    else records[#records + 1] = string.sub(fields[i], 9) .. ' ' .. fields[i + 1] end
  end
  return cjson.encode({ known = state[3] or false, settled = state[4] or 0, running = state[6] or 0, ended = state[7] or 0,
    leases = redis.call('ZCARD', KEYS[2]) - over, records = #records > 0 and records or nil })`)

async function readStore({ cluster, keyring }: Stage): Promise<StoreFact[]> {
  await using redis = await connectTo({
    ...{ url: cluster.servers.redis.url, timeoutMs: 5_000, store: 'chaos', Unavailable: Error, scripts: [READ_USE] },
  })
  await using admission = await openRedisAdmission({ url: cluster.servers.redis.url, timeoutMs: 5_000 })
  const read = async (account: string): Promise<StoreFact> => {
    const text = await redis.run(READ_USE, [`adm:{${account}}:use`, `adm:{${account}}:leases`], [])
    const { keyTotals } = await admission.inspect(account)
    const heldForKeys = keyTotals.reduce((sum, { running, ended }) => sum + running + ended, 0)
    return { account, records: [], heldForKeys, ...(JSON.parse(String(text)) as ReadUse) }
  }
  return await Promise.all(accountsOf(keyring).map(read))
}

type ReadUse = Omit<StoreFact, 'account' | 'records' | 'heldForKeys'>

/** Keys of a project share its account. */
function accountsOf({ owners }: Stage['keyring']): string[] {
  return [...new Set(owners.map(({ account }) => account))]
}

/** The simulated backend signs a thought by the id of its response, and begins each summary alike. */
function broughtIn(body: unknown): Brought {
  const text = JSON.stringify(body)
  const signed = [...text.matchAll(/"signature":"([^"]*)"/g)].map(([, signature]) => {
    return Buffer.from(signature!, 'base64').toString().replace('signed msg_', 'chatcmpl-')
  })
  return { ids: requestsIn(body), thoughtsOf: signed, hasSummary: text.includes('This is the simulated backend') }
}

function asScript(source: string) {
  return { source, sha1: createHash('sha1').update(source).digest('hex') }
}

async function readWindows({ database }: Stage): Promise<WindowFact[]> {
  const { rows } = await database.query<WindowFact>(`
    select account, case unit when 'tokens' then milli_tokens else nano_usd end as total, coalesce(sums.charge, 0) as sum
    from metering.windows
    full join (select account, "window", sum(charge)::bigint as charge from metering.ledger group by 1, 2) sums
      using (account, "window")`)
  return rows
}

/** The last release has no columns for claims. */
async function readRows({ database }: Stage): Promise<LedgerRow[]> {
  const { rows } = await database.query<LedgerRow>(`
    select request_id as "requestId", case rank when 2 then 'edge' else 'router' end as reporter, account, unit, lane,
      backend, prompt_tokens as "promptTokens", completion_tokens as "completionTokens", estimated, charge,
      outcome,
      to_jsonb(row)->>'claim' is not null as "isClaimed", to_jsonb(row)->>'voided_by' as "voidedBy",
      (to_jsonb(row)->>'voided_charge')::bigint as "voidedCharge",
      delivered, extract(epoch from recorded_at)::float8 * 1000 as "recordedAtMs"
    from metering.ledger row order by request_id`)
  return rows
}

function readCalls(stage: Stage): Call[] {
  return stage.calls().map(({ backend, requestId, body, responseId, outcome, usage, startedAtMs, ...call }) => ({
    backend: backend ?? '?',
    requestId: requestId ?? '?',
    id: requestsIn(body).at(-1) ?? NAMELESS,
    brought: broughtIn(body),
    responseId,
    outcome,
    usage: usage && {
      promptTokens: usage.prompt_tokens ?? 0,
      completionTokens: usage.completion_tokens ?? 0,
    },
    startedAtMs,
    endedAtMs: call.endedAtMs,
    hasResponded: call.firstByteAtMs !== null,
  }))
}
