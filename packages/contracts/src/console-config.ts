/**
 * `config.json` beside the key console's files: how the console learns where it is. Written by the edge that serves it,
 * or by hand where the console has a host of its own.
 */

import * as z from 'zod'

export const CONSOLE_CLIENT_ID = 'gateway-console'
export const CONSOLE_SCOPE = 'openid profile keys'
/** Without `openid` the identity provider does not say who signed in. */
export const consoleScope = z
  .string()
  .refine((scope) => scope.split(' ').includes('openid'), `must hold openid, as "${CONSOLE_SCOPE}" does`)

export const consoleConfig = z.object({
  /** The gateway's base address, without /v1. */
  gatewayUrl: z.url({ protocol: /^https?$/ }),
  /** Where people open the console; the identity provider sends them back below it. */
  consoleUrl: z.url({ protocol: /^https?$/ }),
  docsUrl: z.url({ protocol: /^https?$/ }),
  /** Null: nobody can sign in at this gateway. */
  signIn: z
    .object({
      issuer: z.url({ protocol: /^https?$/ }),
      /** The gateway's name to the identity provider, for those that want it in the request. */
      audience: z.string(),
      clientId: z.string().min(1).default(CONSOLE_CLIENT_ID),
      scope: consoleScope.default(CONSOLE_SCOPE),
    })
    .nullable(),
})
export type ConsoleConfig = z.infer<typeof consoleConfig>
