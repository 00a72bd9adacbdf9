/**
 * The words after `npm start --`. There is one, and a misspelt one must not start a gateway that its user did not ask for.
 */

import { variables } from '@gateway/service/environment'
import { UsageError } from '@gateway/service/usage-error'

/** Those that a first user asks for. */
const MOST_USED = ['PORT', 'HOST', 'GATEWAY_CONFIG', 'DATA_DIR', 'PUBLIC_BASE_URL', 'AUTH_ISSUER', 'LOG_LEVEL'] as const

/** The page to print, or null where the gateway is to start. */
export function usageAskedFor(args: readonly string[]): string | null {
  if (args.length === 0) return null
  const unknown = args.find((arg) => arg !== '--help' && arg !== '-h')
  if (unknown === undefined) return page()
  throw new UsageError(`npm start does not know ${unknown}; npm start -- --help tells its options`)
}

function page(): string {
  const width = Math.max(...MOST_USED.map((name) => name.length))
  const lines = MOST_USED.map((name) => `  ${name.padEnd(width)}  ${variables[name].description}`)
  return `npm start
  starts the whole gateway in one process on embedded parts.

npm start -- --help
  prints this page.

Environment (docs/configuration.md has all of it):
${lines.join('\n')}

With a backend of your own, as in deploy/config/examples:
  GATEWAY_CONFIG=deploy/config/examples/ollama.yaml npm start
`
}
