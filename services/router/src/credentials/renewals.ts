/**
 * Rations the renewals of a credential that a vendor refuses before its end: a vendor that refuses every credential must
 * not make the router ask for a new one at each call.
 */

const ONE_EVERY_MS = 60_000

/** Whether one more renewal may begin now. */
export function rationRenewals(): () => boolean {
  let lastAtMs = -Infinity
  return () => {
    const nowMs = Date.now()
    if (nowMs - lastAtMs < ONE_EVERY_MS) return false
    lastAtMs = nowMs
    return true
  }
}
