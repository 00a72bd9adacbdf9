/** How users call the gateway: from a checkout, or as the installed npm package, whose files are compiled. */

const isCheckout = import.meta.filename.endsWith('.ts')

export const START_COMMAND = isCheckout ? 'npm start' : 'npx model-gateway'

/** Of the gateway's start, before its options. */
export const START_WITH = isCheckout ? 'npm start --' : 'npx model-gateway'

/** A first key and a first answer, for a shell. */
export function tryIt(url: string, model: string): string {
  return `
Try it:

  export KEY=$(curl -s ${url}/v1/keys/guest -H 'content-type: application/json' -d '{"device_id":"my-laptop"}' | sed 's/.*"key":"\\([^"]*\\)".*/\\1/')
  curl ${url}/v1/chat/completions -H "authorization: Bearer $KEY" -H 'content-type: application/json' -d '{"model":"${model}","messages":[{"role":"user","content":"Hello!"}]}'
`
}
