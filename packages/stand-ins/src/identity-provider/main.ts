/**
 * The development identity provider as a process of its own, for the local cluster.
 *
 * PORT, HOST, AUTH_AUDIENCE (the gateway's base address), ISSUER (its own), CONSOLE_URL, DATA_DIR.
 */

import { once } from 'node:events'
import { startIdentityProvider } from '../identity-provider.ts'

const { PORT = '0', HOST, ISSUER, AUTH_AUDIENCE = '', CONSOLE_URL = `${AUTH_AUDIENCE}/console`, DATA_DIR } = process.env

await using provider = await startIdentityProvider({
  port: Number(PORT),
  ...(HOST && { host: HOST }),
  ...(ISSUER && { issuer: ISSUER }),
  audience: AUTH_AUDIENCE,
  consoleUrl: CONSOLE_URL,
  ...(DATA_DIR && { directory: DATA_DIR }),
})
console.log(JSON.stringify({ ready: true, url: provider.issuer, pid: process.pid }))
await Promise.race([once(process, 'SIGTERM'), once(process, 'SIGINT')])
