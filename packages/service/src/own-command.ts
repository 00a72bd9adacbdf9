/** How users call the gateway: from a checkout, or as the installed npm package, whose files are compiled. */

const isCheckout = import.meta.filename.endsWith('.ts')

export const START_COMMAND = isCheckout ? 'npm start' : 'npx model-gateway'

/** Of the gateway's start, before its options. */
export const START_WITH = isCheckout ? 'npm start --' : 'npx model-gateway'
