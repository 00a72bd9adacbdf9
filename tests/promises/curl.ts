/**
 * As much of curl as the API reference uses, for machines without it: `-N`, `-X`, `-H`, `-d` and an address. Fails on
 * anything else. Fails with the response where its status is not 2xx.
 */

import { parseArgs } from 'node:util'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    N: { type: 'boolean', short: 'N' },
    X: { type: 'string', short: 'X' },
    H: { type: 'string', short: 'H', multiple: true },
    d: { type: 'string', short: 'd' },
  },
})
const [url] = positionals
if (url === undefined || positionals.length > 1) throw new Error(`one address, not: ${positionals.join(' ')}`)
const headers = (values.H ?? []).map((line): [string, string] => {
  const colon = line.indexOf(':')
  return [line.slice(0, colon), line.slice(colon + 1).trim()]
})
const response = await fetch(url, {
  method: values.X ?? (values.d === undefined ? 'GET' : 'POST'),
  headers,
  ...(values.d !== undefined && { body: values.d }),
})
const text = await response.text()
if (!response.ok) throw new Error(`${response.status} ${text}`)
process.stdout.write(text)
