/**
 * What a browser may do with the console's page: run its own scripts and styles, and talk to the gateway and the
 * identity provider, nothing else.
 */

/** `issuer`: null where nobody can sign in. */
export function pageHeaders(issuer: string | null): Record<string, string> {
  const reachable = ["'self'", ...(issuer ? [new URL(issuer).origin] : [])].join(' ')
  const policy = {
    'default-src': "'none'",
    'script-src': "'self'",
    'style-src': "'self'",
    'font-src': "'self'",
    'img-src': "'self' data:",
    'connect-src': reachable,
    'base-uri': "'none'",
    'form-action': "'none'",
    'frame-ancestors': "'none'",
    'require-trusted-types-for': "'script'",
    'trusted-types': "'none'",
  }
  return {
    'content-security-policy': Object.entries(policy)
      .map(([name, value]) => `${name} ${value}`)
      .join('; '),
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
    'cross-origin-opener-policy': 'same-origin',
    // The address holds the sign-in's code for a moment.
    'referrer-policy': 'no-referrer',
  }
}
