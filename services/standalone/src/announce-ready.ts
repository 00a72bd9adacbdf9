/**
 * What a newcomer reads: where the gateway is, and a curl that works as printed.
 */

import type { StandaloneSettings } from './config.ts'

export function announceReady({ url, issuer }: { url: string; issuer: string }, settings: StandaloneSettings): void {
  const configuration = settings.configPath ?? 'the default: every model on a simulated backend'
  process.stdout.write(`
Model Gateway is ready at ${url}
  console        ${settings.consoleUrl}  (start here)
  data           ${settings.dataDir}
  configuration  ${configuration}
  sign-in        ${issuer}${settings.edge.signIn ? '' : '  (development only: takes any name, asks for no password)'}
  health         http://127.0.0.1:${settings.healthPort}/readyz

Try it:

  KEY=$(curl -s ${url}/v1/keys/guest -H 'content-type: application/json' -d '{"device_id":"my-laptop"}' | sed 's/.*"key":"\\([^"]*\\)".*/\\1/')
  curl ${url}/v1/chat/completions -H "authorization: Bearer $KEY" -H 'content-type: application/json' -d '{"model":"svc-instant","messages":[{"role":"user","content":"Hello!"}]}'

`)
}
