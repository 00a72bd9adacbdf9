/**
 * The console's own address and those of the gateway and the identity provider, read once from `config.json` beside it.
 */

import { consoleConfig, type ConsoleConfig } from '@gateway/contracts/console-config'

export const BASE_PATH = import.meta.env.BASE_URL.replace(/\/$/, '')

export async function readConfig(): Promise<ConsoleConfig> {
  const response = await fetch(`${BASE_PATH}/config.json`, { signal: AbortSignal.timeout(15_000) })
  if (!response.ok) throw new Error(`config.json: ${response.status}`)
  return consoleConfig.parse(await response.json())
}
