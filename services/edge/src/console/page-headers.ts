/**
 * What a browser may do with the console's page: run its own scripts and styles, and talk to its own host and to those
 * that it is told, nothing else.
 */

/** `others`: the identity provider's address, and the gateway's where the page has a host of its own. */
export function pageHeaders(others: string[]): Record<string, string> {
  const reachable = ["'self'", ...others.map((url) => new URL(url).origin)].join(' ')
  const policy = {
    'default-src': "'none'",
    'script-src': "'self'",
    'style-src': "'self'",
    'font-src': "'self'",
    'img-src': "'self'",
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
