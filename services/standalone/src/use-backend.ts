/**
 * `npm start -- --backend <address>`: probes a server, and writes the config that puts its models behind the lanes. The file
 * lies in the data folder, ready to be edited; it never holds the key.
 */

import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describeServer, dialectByHost } from '@gateway/probe/describe-server'
import { choosePossible, type LaneChoice } from '@gateway/probe/map-lanes'
import { probe, type Probed } from '@gateway/probe/probe'
import { openServer, type ServerAddress } from '@gateway/probe/server'
import { configFor, KEY_VARIABLE, lanesFor } from '@gateway/probe/write-config'
import { openDataFolder } from '@gateway/local/data-folder'
import { UsageError } from '@gateway/service/report-fatal'

export interface UsedBackend {
  configPath: string
  lanes: LaneChoice[]
}

/** These checks decide where a model is used. `ctl backends probe` runs all of them. */
const DECISIVE = ['chat', 'tools', 'vision', 'embeddings', '768 dimensions']

export async function useBackend(
  url: string,
  { environment, dataDir }: { environment: NodeJS.ProcessEnv; dataDir: string },
  notify: (line: string) => void,
): Promise<UsedBackend> {
  // Before minutes of requests.
  await openDataFolder(dataDir)
  const apiKey = environment[KEY_VARIABLE] || undefined
  const address: ServerAddress = { url: url.replace(/(?<!\/)\/+$/, ''), apiKey, dialect: dialectByHost(url) }
  const server = openServer(address)
  const description = await describeServer(server)
  const models = choosePossible(description.models)
  if (models.length === 0) throw new UsageError(`${url} cannot be used: ${description.error || 'no model of it chats'}`)
  notify(`Probing ${models.map(({ id }) => id).join(', ')} at ${url}: a few short requests each`)
  const probed: Probed[] = []
  for (const model of models) {
    probed.push(
      await probe({
        server,
        kind: description.kind,
        model,
        only: DECISIVE,
        notify: ({ check, result, note }) =>
          notify(`  ${model.id}: ${check} ${result === 'no response' ? note : result}`),
      }),
    )
  }
  const config = configFor(address, description, probed)
  if (config === null) throw new UsageError(`${url} cannot be used: ${whyNone(probed)}`)
  const configPath = join(dataDir, 'backend.yaml')
  const head = `# Written by npm start -- --backend ${url}, again at each such start. Copy it to change it.\n\n`
  await writeFile(configPath, head + config)
  return { configPath, lanes: lanesFor(probed) }
}

function whyNone(probed: readonly Probed[]): string {
  return probed.map(({ model, findings }) => `${model.id} did not respond (${findings.at(-1)?.note})`).join('; ')
}
