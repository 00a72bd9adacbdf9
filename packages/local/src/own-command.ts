/** The command by which users start the gateway: from a checkout, or from the installed npm package, whose files are compiled. */

const isCheckout = import.meta.filename.endsWith('.ts')

export const START_COMMAND = isCheckout ? 'npm start' : 'npx model-gateway'

/** The start command up to its options. */
export const START_WITH = isCheckout ? 'npm start --' : 'npx model-gateway'

/** The commands that get a first key and a first response in a shell. */
export function tryIt(url: string, model: string): string {
  return `
Try it:

  export KEY=$(curl -s ${url}/v1/keys/guest -H 'content-type: application/json' -d '{"device_id":"my-laptop"}' | sed 's/.*"key":"\\([^"]*\\)".*/\\1/')
  curl ${url}/v1/chat/completions -H "authorization: Bearer $KEY" -H 'content-type: application/json' -d '{"model":"${model}","messages":[{"role":"user","content":"Hello!"}]}'
`
}
