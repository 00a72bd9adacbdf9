/**
 * The kind of a target. Targets of one kind refuse the same requests. A target of another kind may accept a request that
 * the first one refused: it speaks another dialect, has other capabilities, or is another vendor's.
 */

import type { BackendConfig } from '@gateway/contracts/config'

/** By the domains of their public addresses. All others are the operator's own servers, and one kind. */
const VENDOR_DOMAINS = [
  'openai.com',
  'azure.com',
  'anthropic.com',
  'googleapis.com',
  'amazonaws.com',
  'openrouter.ai',
  'x.ai',
  'mistral.ai',
  'groq.com',
  'together.xyz',
  'fireworks.ai',
  'deepseek.com',
  'deepinfra.com',
  'cohere.com',
  'cerebras.ai',
  'perplexity.ai',
  'nvidia.com',
]

export function kindOf({
  dialect,
  url,
  capabilities,
}: Pick<BackendConfig, 'dialect' | 'url' | 'capabilities'>): string {
  return [dialect, vendorOf(url), ...capabilities.toSorted()].join(' ')
}

/** Empty for all but the listed ones. */
export function vendorOf(url: string): string {
  const { hostname } = new URL(url)
  return VENDOR_DOMAINS.find((domain) => hostname === domain || hostname.endsWith(`.${domain}`)) ?? ''
}
