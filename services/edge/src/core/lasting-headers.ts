/**
 * Of an answer's headers, those that stay true when it is given again: what served it and why, not where the account
 * stood then.
 */

const OF_THE_MOMENT = ['x-svc-quota-', 'x-ratelimit-', 'anthropic-ratelimit-']

export function lastingHeaders(headers: Record<string, string>): Record<string, string> {
  const lasting = Object.entries(headers).filter(([name]) => !OF_THE_MOMENT.some((prefix) => name.startsWith(prefix)))
  return Object.fromEntries(lasting)
}
