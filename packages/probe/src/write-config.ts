/**
 * Writes the config lines for the findings of a probe. Pure. A key stays in the environment.
 */

import { PLAIN } from '@gateway/contracts/vendors'
import type { Finding } from './checks.ts'
import { resultOf, type Probed } from './probe.ts'
import type { ServerDescription } from './describe-server.ts'
import { mapLanes, type LaneChoice } from './map-lanes.ts'
import type { ServerAddress } from './server.ts'

export const KEY_VARIABLE = 'BACKEND_API_KEY'

export type Capability = 'chat' | 'tools' | 'vision' | 'embeddings'

/** A server that did not respond in time may have the capability: only a failed check removes it. */
function mayHave(findings: readonly Finding[], check: string): boolean {
  const result = resultOf(findings, check)
  return result === 'yes' || result === 'no response'
}

function capabilitiesOf({ model, findings }: Probed): Capability[] {
  const has = (check: string) => mayHave(findings, check)
  if (model.does === 'embeddings') return has('embeddings') ? ['embeddings'] : []
  if (!has('chat')) return []
  // The probe sent nothing more. These are the capabilities of a backend of which nothing is known.
  if (resultOf(findings, 'chat') === 'no response') return ['chat', 'tools']
  return ['chat', ...(has('tools') ? ['tools' as const] : []), ...(has('vision') ? ['vision' as const] : [])]
}

/** Null where no model responded. */
export function configFor(
  address: ServerAddress,
  description: ServerDescription,
  probed: readonly Probed[],
): string | null {
  const lanes = lanesFor(probed)
  return lanes.length === 0 ? null : writeConfig(address, description, probed, lanes)
}

export function lanesFor(probed: readonly Probed[]): LaneChoice[] {
  const responding = probed.filter((one) => capabilitiesOf(one).length > 0)
  const having = (check: string) =>
    new Set(responding.filter(({ findings }) => mayHave(findings, check)).map(({ model }) => model.id))
  return mapLanes(
    responding.map(({ model }) => model),
    { tools: having('tools'), vision: having('vision'), embeds: having('768 dimensions') },
  )
}

/** Models with the same skills share a backend: a backend has its capabilities whole. */
function writeConfig(
  { url, apiKey, dialect = PLAIN.dialect }: ServerAddress,
  { kind, places }: ServerDescription,
  probed: readonly Probed[],
  lanes: readonly LaneChoice[],
): string {
  const byModel = new Map(probed.map((one) => [one.model.id, capabilitiesOf(one)]))
  const used = new Set(lanes.map(({ model }) => model))
  const groups = [...new Set([...used].map((model) => byModel.get(model)!.join(', ')))]
  const backendOf = (model: string) => idOf(groups.indexOf(byModel.get(model)!.join(', ')))
  const windowOf = (id: string) => probed.find(({ model }) => model.id === id)?.model.contextWindow ?? null
  return [
    'backends:',
    ...groups.flatMap((capabilities, index) => [
      `  - id: ${idOf(index)}`,
      `    url: ${JSON.stringify(url)}`,
      ...(kind === null ? [] : [`    vendor: ${kind}`]),
      ...(kind === null && dialect !== PLAIN.dialect ? [`    dialect: ${dialect}`] : []),
      ...(apiKey ? [`    apiKey: \${${KEY_VARIABLE}}`] : []),
      `    capabilities: [${capabilities}]`,
      ...(places === null ? [] : [`    maxConcurrent: ${places}`]),
      ...(kind === null ? [LONG_TIMEOUTS] : []),
    ]),
    'pools:',
    ...lanes.flatMap(({ pool, model }) => {
      const window = windowOf(model)
      const target = [`backend: ${backendOf(model)}`, `model: ${JSON.stringify(model)}`]
      if (window !== null) target.push(`contextWindow: ${window}`)
      return [`  - id: ${pool}`, '    targets:', `      - { ${target.join(', ')} }`]
    }),
    '',
  ].join('\n')
}

/** Timeouts for a server without a vendor's own: a model may be loaded from disk first, or reason for minutes. */
const LONG_TIMEOUTS = '    timeouts: { firstByteMs: 300000, idleMs: 120000 }'

function idOf(index: number): string {
  return index === 0 ? 'backend' : `backend-${index + 1}`
}
