/**
 * An operation's example as a command that runs as it is printed, with the credential in an environment variable.
 */

import { credentials, type Example, type Operation } from './api-reference.ts'

export function curlExample(baseUrl: string, operation: Operation, { body }: Example): string {
  const { method, credential } = operation
  const { variable } = credentials[credential]
  const lines = [`curl ${body?.['stream'] === true ? '-N ' : ''}${quoted(baseUrl + pathOf(operation))}`]
  if (method === 'POST' && !body) lines.push('-X POST')
  if (variable) lines.push(`-H "authorization: Bearer ${variable}"`)
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
