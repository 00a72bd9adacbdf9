/**
 * Prints a newcomer's first page: the gateway's address, the models that serve, and a curl that works as printed.
 */

import { createDefaultConfig } from '@gateway/contracts/default-config'
import type { FoundServer } from '@gateway/probe/find-servers'
import type { LaneChoice } from '@gateway/probe/map-lanes'
import { tryIt } from '@gateway/local/own-command'
import type { StandaloneSettings } from './config.ts'
import type { Standalone } from './start.ts'

/** `lanes`: of a server that was named on the command line. */
export function announceReady(
  { url, issuer, guestModel }: Pick<Standalone, 'url' | 'issuer' | 'guestModel'>,
  settings: StandaloneSettings,
  lanes: LaneChoice[] | null,
): void {
  const configuration = settings.configPath ?? 'the default: every model on a simulated backend'
  process.stdout.write(`
Model Gateway is ready at ${url}
  console        ${settings.consoleUrl}  (start here)
  docs           ${settings.edge.docsUrl}
  administer     npm run ctl -- admin-keys create
  data           ${settings.dataDir}
  configuration  ${configuration}
  sign-in        ${issuer}${settings.edge.signIn ? '' : '  (development only: takes any name, needs no password)'}
  health         http://127.0.0.1:${settings.healthPort}/readyz
${lanes ? `\nModels by lane:\n\n${describeLanes(lanes)}\n` : ''}${guestModel ? tryIt(url, guestModel) : ''}
`)
}

/** `inFlight`: requests whose responses are not complete. */
export function announceStop(inFlight: number, drainMs: number): void {
  if (inFlight === 0) return
  const [are, their, them] = inFlight === 1 ? ['response is', 'its', 'it'] : ['responses are', 'their', 'them']
  const minutes = Math.ceil(drainMs / 60_000)
  process.stdout.write(
    `\nStopping: ${inFlight} ${are} still on ${their} way, for up to ${minutes} ${minutes === 1 ? 'minute' : 'minutes'}. ` +
      `Ctrl-C once more ends ${them} now.\n`,
  )
}

/** Each model of the gateway that has a pool of its own name, with the server's; and those that nobody serves. */
function describeLanes(lanes: readonly LaneChoice[]): string {
  const served = new Map(lanes.map(({ pool, model }) => [pool, model]))
  const ours = createDefaultConfig().models.filter(
    (model) => model.type !== 'auto' && !model.direct && !model.replacement,
  )
  const rows = ours.map((model) => ({ id: model.id, model: served.get('pool' in model ? model.pool : '') }))
  const width = Math.max(...rows.map(({ id }) => id.length))
  const missing = rows.filter(({ model }) => model === undefined).map(({ id }) => id)
  const lines = rows
    .filter(({ model }) => model !== undefined)
    .map(({ id, model }) => `  ${id.padEnd(width)}  ${model}`)
  return [...lines, ...(missing.length > 0 ? [`  not served: ${missing.join(', ')}`] : [])].join('\n')
}

/** The gateway never uses one of them by itself. */
export function announceHints(servers: readonly (FoundServer & { command: string })[]): void {
  for (const { name, url, keyVariable, command } of servers) {
    const where = keyVariable === null ? `${name} runs here, at ${url}` : `${keyVariable} is set`
    process.stdout.write(`${where}. To put its models behind the gateway:\n\n  ${command}\n\n`)
  }
}
