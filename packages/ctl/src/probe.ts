/**
 * `backends probe`: probes the abilities of a backend itself, without the gateway. It shows the cost before it sends a request.
 */

import { configFor, KEY_VARIABLE } from '@gateway/probe/write-config'
import { describeServer, dialectByHost, type ListedModel, type ServerDescription } from '@gateway/probe/describe-server'
import { choosePossible } from '@gateway/probe/map-lanes'
import { costOf, probe, type Probed } from '@gateway/probe/probe'
import { openServer, type ServerAddress } from '@gateway/probe/server'
import { dialectNames } from '@gateway/contracts/vendors'
import { loadConfig } from '@gateway/config/load-config'
import { resolveSecrets } from '@gateway/config/resolve-secrets'
import { UsageError } from '@gateway/service/report-fatal'
import { oneLine, renderTable, type CommandResult } from './command-result.ts'
import { readText } from './config.ts'

export interface ProbeOptions {
  url?: string
  key?: string
  model?: string[]
  dialect?: string
  dryRun?: boolean
}

export async function probeBackend(
  id: string | undefined,
  options: ProbeOptions,
  environment: NodeJS.ProcessEnv,
  print: (line: string) => void,
): Promise<CommandResult> {
  const { address, models: named } = await findAddress(id, options, environment)
  const server = openServer(address)
  const description = await describeServer(server)
  const models = chooseModels(description, options.model ?? named, address)
  const { requests, promptTokens, completionTokens } = costOf(models)
  const cost = `at most ${requests} requests, ${promptTokens} prompt tokens and ${completionTokens} completion tokens`
  const names = oneLine(models.map((model) => model.id).join(', '))
  print(`${address.url}: ${names}: ${cost}`)
  if (options.dryRun)
    return { data: { models: names, requests, promptTokens, completionTokens }, text: 'no request sent' }

  const probed: Probed[] = []
  for (const model of models) probed.push(await probe({ server, kind: description.kind, model }))
  const config = configFor(address, description, probed)
  return {
    data: { url: address.url, kind: description.kind, models: probed, config },
    text: [
      ...probed.map(renderProbed),
      ...(config === null ? [] : ['', 'The config lines that fit:', '', config]),
    ].join('\n'),
    findsFault: config === null,
  }
}

interface Found {
  address: ServerAddress
  /** Those that the config file's pools name. */
  models: string[] | undefined
}

async function findAddress(
  id: string | undefined,
  { url, key, dialect }: ProbeOptions,
  environment: NodeJS.ProcessEnv,
): Promise<Found> {
  if (id !== undefined && url === undefined) return findConfigured(id, environment)
  if (url === undefined || id !== undefined) throw new UsageError('name the id of a backend, or its --url')
  if (!URL.canParse(url)) throw new UsageError('--url is an address such as http://127.0.0.1:11434/v1')
  const named = dialectNames.find((name) => name === dialect)
  if (dialect !== undefined && !named) throw new UsageError(`--dialect is ${dialectNames.join(' or ')}`)
  const apiKey = key ?? (environment[KEY_VARIABLE] || undefined)
  return { address: { url, apiKey, dialect: named ?? dialectByHost(url) }, models: undefined }
}

async function findConfigured(id: string, environment: NodeJS.ProcessEnv): Promise<Found> {
  const file = environment['GATEWAY_CONFIG']
  if (!file) throw new UsageError('set GATEWAY_CONFIG to the config file that names the backend, or use --url')
  const { backends, pools } = loadConfig(await readText(file), file).config
  const backend = backends.find((one) => one.id === id)
  if (!backend) throw new UsageError(`${file} has no backend ${id}; it has ${backends.map((one) => one.id).join(', ')}`)
  const targets = pools.flatMap((pool) => pool.targets).filter((target) => target.backend === id)
  return { address: resolveSecrets(backend, environment), models: [...new Set(targets.map(({ model }) => model))] }
}

/** Without a word about which: those that lanes could get. A server may list hundreds. */
function chooseModels(
  { models, error }: ServerDescription,
  named: string[] | undefined,
  { url }: ServerAddress,
): ListedModel[] {
  if (named && named.length > 0) {
    return named.map((id) => {
      const listed = models.find((model) => model.id === id)
      return listed ?? { id, does: /embed/i.test(id) ? 'embeddings' : 'chat', parameters: null, contextWindow: null }
    })
  }
  const chosen = choosePossible(models)
  if (chosen.length === 0)
    throw new UsageError(`${url} lists no model to probe: ${error || 'none chats or embeds'}; name one with --model`)
  return chosen
}

function renderProbed({ model, findings }: Probed): string {
  const table = renderTable(
    [
      { title: 'check', cell: ({ check }) => check },
      { title: 'result', cell: ({ result }) => result },
      { title: 'seen', cell: ({ note }) => note },
    ],
    findings,
  )
  const window = model.contextWindow === null ? '' : `, context window ${model.contextWindow}`
  return `${oneLine(model.id)}${window}\n${table}\n`
}
