/**
 * The words after `npm start --`. A misspelt one must not start a gateway that its user did not want.
 */

import { parseArgs } from 'node:util'
import { variables } from '@gateway/service/environment'
import { START_COMMAND, START_WITH } from '@gateway/local/own-command'
import { UsageError } from '@gateway/service/report-fatal'

export interface CommandLine {
  /** The page to print instead of a start. */
  page: string | null
  /** The address of the server whose models are to be served. */
  backend: string | null
}

/** The variables that a first user needs. */
const MOST_USED = ['PORT', 'HOST', 'GATEWAY_CONFIG', 'DATA_DIR', 'PUBLIC_BASE_URL', 'AUTH_ISSUER', 'LOG_LEVEL'] as const
const OPTIONS = { help: { type: 'boolean', short: 'h' }, backend: { type: 'string' } } as const

export function readCommandLine(args: string[]): CommandLine {
  const { help = false, backend = null } = parse(args)
  if (backend !== null && !isHttp(backend)) {
    throw new UsageError(`--backend is an address such as http://127.0.0.1:11434/v1, and ${backend} is none`)
  }
  return { page: help ? page() : null, backend: backend && new URL(backend).href }
}

function parse(args: string[]) {
  try {
    return parseArgs({ args, options: OPTIONS }).values
  } catch (error) {
    const why = error instanceof Error ? error.message.split('. ')[0] : String(error)
    throw new UsageError(`${START_COMMAND}: ${why}; ${START_WITH} --help lists its options`)
  }
}

function isHttp(address: string): boolean {
  return URL.canParse(address) && /^https?:$/.test(new URL(address).protocol)
}

function page(): string {
  const width = Math.max(...MOST_USED.map((name) => name.length))
  const lines = MOST_USED.map((name) => `  ${name.padEnd(width)}  ${variables[name].description}`)
  return `${START_COMMAND}
  starts the whole gateway in one process on embedded parts.

${START_WITH} --backend http://127.0.0.1:11434/v1
  the same, on the models of that server: OpenAI's API or Anthropic's. Sends each model that it takes a few short
  requests, and prints which one serves which lane. BACKEND_API_KEY holds the server's key, if it wants one.

${START_WITH} --help
  prints this page.

Environment (docs/configuration.md has all of it):
${lines.join('\n')}

With a config file of your own (deploy/config/examples has one for each vendor):
  GATEWAY_CONFIG=gateway.yaml ${START_COMMAND}
`
}
