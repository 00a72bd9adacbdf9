/**
 * The credential of calls to a backend. A key that never changes is a header. The router requests a credential before
 * each call, since it changes: a token that expires, or a signature of the request itself.
 */

export interface CallToAuthorize {
  method: 'GET' | 'POST'
  url: URL
  headers: Record<string, string>
  body: Buffer | null
}

export interface Credential {
  /** The headers that authorize this call. Rejects when no credential is to be had. */
  authorize(call: CallToAuthorize): Promise<Record<string, string>>
  /** The vendor refused a call with these headers. True where the next call gets others. */
  renew(refused: Record<string, string>): boolean
  /** All that it has put into calls, and that no client may read in a backend's error. */
  secrets(): string[]
}

const RENEW_ONCE_IN_MS = 60_000

/**
 * True if one more renewal of a refused credential may begin now. So a vendor that refuses every credential does not
 * make the router request a new one at each call.
 */
export function rationRenewals(): () => boolean {
  let lastAtMs = -Infinity
  return () => {
    const nowMs = Date.now()
    if (nowMs - lastAtMs < RENEW_ONCE_IN_MS) return false
    lastAtMs = nowMs
    return true
  }
}

export interface Token {
  value: string
  /** By `Date.now()`. */
  expiresAtMs: number
}

/** No call takes longer to begin, and no two clocks differ by more. */
const RENEW_AHEAD_MS = 300_000
/** A request without a response must not keep all later calls waiting. */
const REQUEST_MS = 30_000

/**
 * Bearer tokens that expire: each is used until shortly before its end, and callers that need a new one wait for the
 * same request. A failure is reported to those who wait; the next caller tries again. When the vendor refuses a token
 * before its end, the router requests another, once a minute at most.
 */
export function bearerTokens(request: () => Promise<Token>): Credential {
  let token: Token | null = null
  let former = ''
  let renewing: Promise<Token> | null = null
  const mayRenew = rationRenewals()

  async function renew(): Promise<Token> {
    const late = Promise.withResolvers<never>()
    const timer = setTimeout(() => late.reject(new Error(`no token within ${REQUEST_MS / 1_000} s`)), REQUEST_MS)
    try {
      const renewed = await Promise.race([request(), late.promise])
      former = token?.value ?? former
      return (token = renewed)
    } finally {
      clearTimeout(timer)
      renewing = null
    }
  }

  async function current(): Promise<Token> {
    const nowMs = Date.now()
    if (token && token.expiresAtMs - nowMs > RENEW_AHEAD_MS) return token
    renewing ??= renew()
    // The old one is good until its end: nobody waits, and no failure is reported yet.
    if (token && token.expiresAtMs > nowMs) {
      renewing.catch(() => {})
      return token
    }
    return renewing
  }

  return {
    authorize: async () => ({ authorization: `Bearer ${(await current()).value}` }),
    renew({ authorization }) {
      // Another call has been refused before, and renews it.
      if (authorization !== `Bearer ${token?.value}`) return true
      if (!mayRenew()) return false
      former = token!.value
      token = null
      return true
    },
    secrets: () => [token?.value ?? '', former].filter((secret) => secret !== ''),
  }
}
