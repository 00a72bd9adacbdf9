/**
 * An operation's example as a command that runs as it is printed, with the credential in an environment variable.
 */

import type { Credential, Example, Operation } from '@gateway/contracts/api-reference'

const VARIABLES: Record<Exclude<Credential, 'none'>, string> = { key: '$SVC_KEY', 'sign-in': '$SIGNIN_TOKEN' }

export function curlExample(baseUrl: string, operation: Operation, { body }: Example): string {
  const { method, credential } = operation
  const lines = [`curl ${body?.['stream'] === true ? '-N ' : ''}${quoted(baseUrl + pathOf(operation))}`]
  if (method === 'POST' && !body) lines.push('-X POST')
  if (credential !== 'none') lines.push(`-H "authorization: Bearer ${VARIABLES[credential]}"`)
  if (body) lines.push(`-H 'content-type: application/json'`, `-d ${quoted(JSON.stringify(body, null, 2))}`)
  return lines.join(' \\\n  ').replaceAll('$KEY', `'"$SVC_KEY"'`)
}

function pathOf({ path, pathParameters = [], query = [] }: Operation): string {
  const filled = pathParameters.reduce((sofar, { name, example }) => sofar.replace(`{${name}}`, example), path)
  const asked = query.flatMap(({ name, example }) => (example ? [`${name}=${example}`] : []))
  return asked.length > 0 ? `${filled}?${asked.join('&')}` : filled
}

/** For a POSIX shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}
